import type { Handler } from '#shared/kafka/consumer/record.ts';

type Versioned = { readonly version: number };

type Dependencies<D> = {
  readonly read: (document: D) => Promise<D | undefined>;
  readonly publish: (document: D) => Promise<void>;
};

/**
 * Follows a compacted topic whose documents are in the view before they are published: behind an older document the
 * newest one is published again, because compaction keeps the record that stands last.
 */
export function makeRepublishNewer<D extends Versioned>({ read, publish }: Dependencies<D>): Handler<D> {
  return async function republishNewer(document) {
    const newest = await read(document);
    if (newest !== undefined && newest.version > document.version) await publish(newest);
  };
}
