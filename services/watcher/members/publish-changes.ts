import {
  type Watch,
  type WatchEvent,
  type WatchMember,
  watchMember,
} from '#shared/contracts/watches/watch.ts';
import { WATCH_EVENT_KEPT_MS } from '#shared/contracts/watches/watch-event.ts';
import { firstDelivery, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { publishNewer } from '#shared/stores/watches/members/write-watch-members.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import { groupByWatch } from './check-due.ts';

/** A gateway that adds or removes a member publishes it itself within this time. */
const WRITTEN_BY_GATEWAY_MS = 10_000;

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  readonly members: Pick<
    WatchMembers,
    'markSent' | 'outbox' | 'project' | 'readInPages' | 'readMany' | 'readNewer'
  >;
  readonly watches: Pick<Watches, 'readByUid'>;
  /** Called if a member cannot be published, because its document has too many bytes. */
  readonly onUnpublishable: (member: WatchMember) => void;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

export type PublishChanges = ReturnType<typeof makePublishChanges>;

/**
 * Steps 2 to 4 of a change (README.md): publishes the member's new state, then its event, and then
 * marks the event as sent in the view. A repetition sends the same bytes under the same id.
 */
export function makePublishChanges(deps: Dependencies) {
  const { publish, members, watches, now } = deps;
  const publishEvent = async (
    { clientId, accountId, callbackUrl }: Pick<Watch, 'clientId' | 'accountId' | 'callbackUrl'>,
    { id, json, at }: WatchEvent,
  ): Promise<void> => {
    const retainUntil = new Date(Date.parse(at) + WATCH_EVENT_KEPT_MS).toISOString();
    const about = { requestId: id, clientId, accountId, callbackUrl, acceptedAt: at, retainUntil };
    await publish(webhookRequested, firstDelivery(about, { resultJson: json }));
  };

  const publishMember = async (watch: Watch | undefined, member: WatchMember): Promise<void> => {
    try {
      await publish(watchMember, member);
      // A deleted watch sends nothing.
      if (member.event && watch) await publishEvent(watch, member.event);
      if (!(await members.markSent(member))) await publishNewer(deps, member);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'message-too-large')) throw error;
      // It stays in the outbox. The other members of the partition, which are those of other
      // clients, must not wait for it.
      deps.onUnpublishable(member);
    }
  };

  return {
    publishEvent,
    publishMember,
    /** Publishes the events that a dead process has left in the outbox. */
    async publishOutbox(partition: number): Promise<void> {
      for (const [uid, memberIds] of groupByWatch(await members.outbox(partition))) {
        const watch = await watches.readByUid(uid);
        for await (const page of members.readInPages(uid, memberIds))
          await Promise.all(
            page.map((member) =>
              member && isLeftBehind(member, now()) ? publishMember(watch, member) : undefined,
            ),
          );
      }
    },
  };
}

/** A version is the time of its write. An event is due at once: the record that caused it waits for
 * nothing else. */
const isLeftBehind = ({ event, version }: WatchMember, nowMs: number): boolean =>
  event !== undefined || nowMs - version > WRITTEN_BY_GATEWAY_MS;
