import type { Topic } from '#shared/contracts/topic.ts';
import { isPresent, type WatchMember, watchMember } from '#shared/contracts/watches/watch.ts';
import type { HandleErasure, Handler } from '#shared/kafka/consumer/record.ts';
import { liveOf, type VersionedDocuments } from '#shared/stores/documents/versioned-documents.ts';
import { nameOf } from '#shared/stores/watches/members/watch-member-text.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';

type Versioned = { readonly version: number };
type Publish<D> = (document: D) => Promise<void>;

type Dependencies<D> = {
  /** Puts the document into its view; false if the view has the same or a newer version. */
  readonly project: (document: D) => Promise<boolean>;
  readonly read: (document: D) => Promise<D | undefined>;
  readonly publish: Publish<D>;
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

/** Behind an erasure that came too late, because a new document of the key was published before it, that
 * document is published again. */
const republish =
  <D>(readLive: (key: string) => Promise<D | undefined>, publish: Publish<D>): HandleErasure =>
  async (key) => {
    const document = await readLive(key);
    if (document !== undefined) await publish(document);
  };

/** Follows a compacted topic, and its erasures, into its view. */
export const followInto = <D extends Versioned & { readonly deletedAt?: string | undefined }>(
  topic: Topic<D>,
  { project, read }: Pick<VersionedDocuments<D>, 'project' | 'read'>,
  publish: Publish<D>,
): Followed =>
  follow(
    topic,
    makeProjector({ project, read: (document) => read(topic.keyOf(document)), publish }),
    republish(async (key) => liveOf(await read(key)), publish),
  );

/** Follows the members of watches, which are in the view before they are published: behind an older
 * one the newest is published again, because compaction keeps the last record. */
export const followMembers = (
  { readNewer, readMany }: Pick<WatchMembers, 'readNewer' | 'readMany'>,
  publish: Publish<WatchMember>,
): Followed =>
  follow(
    watchMember,
    async (member) => {
      const newest = await readNewer(member);
      if (newest !== undefined) await publish(newest);
    },
    republish(async (key) => {
      const { watchUid, memberId } = nameOf(key);
      const [member] = await readMany(watchUid, [memberId]);
      return isPresent(member) ? member : undefined;
    }, publish),
  );

type Followed = {
  readonly topic: Topic<unknown>;
  readonly handle: Handler<unknown>;
  readonly handleErasure: HandleErasure | undefined;
};

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
