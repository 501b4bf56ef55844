import type { Topic } from '#shared/contracts/topic.ts';
import type { HandleErasure, Handler } from '#shared/kafka/consumer/record.ts';

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

/**
 * Follows the erasures of a compacted topic: behind one that came too late, because a new document
 * of the key was published before it, that document is published again.
 */
export function makeRepublishErased<D>({
  readLive,
  publish,
}: {
  /** Nothing if there is no document, or a deleted one. */
  readonly readLive: (key: string) => Promise<D | undefined>;
  readonly publish: (document: D) => Promise<void>;
}): HandleErasure {
  return async function republishErased(key) {
    const document = await readLive(key);
    if (document !== undefined) await publish(document);
  };
}

/** A topic and its handlers, whatever its message is. */
type Followed = {
  readonly topic: Topic<unknown>;
  readonly handle: Handler<unknown>;
  readonly handleErasure: HandleErasure | undefined;
};

/** @example
 * kafka.consume({ groupId, window, ...together([follow(audit, (entry) => auditTrail.record(entry))]) }); */
export const follow = <M>(topic: Topic<M>, handle: Handler<M>, handleErasure?: HandleErasure): Followed => ({
  topic: topic as Topic<unknown>,
  handle: handle as Handler<unknown>,
  handleErasure,
});

/** Topics for one consumer, which costs one membership and one fetch for all of them. The order of a
 * key's records is that of its topic. */
export function together(followed: readonly Followed[]): {
  readonly topics: readonly Topic<unknown>[];
  readonly handle: Handler<unknown>;
  readonly handleErasure: HandleErasure;
} {
  const byTopic = new Map(followed.map((each) => [each.topic.name, each]));
  return {
    topics: followed.map(({ topic }) => topic),
    handle: async (message, record) => byTopic.get(record.topic)?.handle(message, record),
    handleErasure: async (key, topic) => byTopic.get(topic)?.handleErasure?.(key, topic),
  };
}
