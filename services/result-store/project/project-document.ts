import type { Handler } from '#shared/kafka/consumer/record.ts';

type Versioned = { readonly version: number };

type Dependencies<D> = {
  /** Puts the document into its view; false if the view has the same or a newer version. */
  readonly project: (document: D) => Promise<boolean>;
  readonly read: (document: D) => Promise<D | undefined>;
  readonly publish: (document: D) => Promise<void>;
};

/**
 * Follows a compacted topic into its view.
 *
 * Compaction keeps the last record, whatever its version. So after an older document the newest one
 * is published again, and also after another document of the same version, whose writer had given
 * up.
 */
export function makeProjector<D extends Versioned>({ project, read, publish }: Dependencies<D>): Handler<D> {
  return async function projectDocument(document) {
    if (await project(document)) return;
    const newest = await read(document);
    if (newest === undefined || newest.version < document.version) return;
    const isSame = newest.version === document.version && JSON.stringify(newest) === JSON.stringify(document);
    if (!isSame) await publish(newest);
  };
}

/**
 * Follows a compacted topic whose documents are in the view before they are published: behind an
 * older document the newest one is published again, because compaction keeps the last record.
 */
export function makeRepublishNewer<D>({
  readNewer,
  publish,
}: {
  /** The view's document if it is newer than this one. */
  readonly readNewer: (document: D) => Promise<D | undefined>;
  readonly publish: (document: D) => Promise<void>;
}): Handler<D> {
  return async function republishNewer(document) {
    const newest = await readNewer(document);
    if (newest !== undefined) await publish(newest);
  };
}
