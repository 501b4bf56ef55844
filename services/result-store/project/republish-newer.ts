import type { Handler } from '#shared/kafka/consumer/record.ts';

type Dependencies<D> = {
  /** The view's document if it is newer than this one. */
  readonly readNewer: (document: D) => Promise<D | undefined>;
  readonly publish: (document: D) => Promise<void>;
};

/**
 * Follows a compacted topic whose documents are in the view before they are published: behind an older document the
 * newest one is published again, because compaction keeps the last record.
 */
export function makeRepublishNewer<D>({ readNewer, publish }: Dependencies<D>): Handler<D> {
  return async function republishNewer(document) {
    const newest = await readNewer(document);
    if (newest !== undefined) await publish(newest);
  };
}
