import { type Watch, type WatchEvent, type WatchMember, watchMember } from '#shared/contracts/watch.ts';
import { WATCH_EVENT_KEPT_MS } from '#shared/contracts/watch-event.ts';
import { webhookRequested } from '#shared/contracts/webhook.ts';
import { publishNewer } from '#shared/documents/publish-newer.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Results } from '#shared/redis/results.ts';
import type { WatchMembers } from '#shared/redis/watch-members.ts';
import type { Watches } from '#shared/redis/watches.ts';
import { groupByWatch } from './check-due.ts';

/** Members published at a time. */
const CHUNK = 500;
/** A gateway that adds or removes a member publishes it itself within this time. */
const WRITTEN_BY_GATEWAY_MS = 10_000;

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  readonly results: Pick<Results, 'saveIfAbsent'>;
  readonly members: Pick<WatchMembers, 'markSent' | 'outbox' | 'readMany' | 'readNewer'>;
  readonly watches: Pick<Watches, 'readByUid'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

export type PublishChanges = ReturnType<typeof makePublishChanges>;

/**
 * Steps 2 to 4 of a change (README.md): publishes the member's new state, then its event, and then marks the event as sent
 * in the view. A repetition sends the same bytes under the same id.
 */
export function makePublishChanges({ publish, results, members, watches, now }: Dependencies) {
  const publishEvent = async (
    { clientId, callbackUrl }: Pick<Watch, 'clientId' | 'callbackUrl'>,
    { id, json, at }: WatchEvent,
  ): Promise<void> => {
    const retainUntilMs = Date.parse(at) + WATCH_EVENT_KEPT_MS;
    // Where a resend finds the bytes.
    await results.saveIfAbsent({ requestId: id, resultJson: json, retainUntil: retainUntilMs });
    await publish(webhookRequested, {
      requestId: id,
      clientId,
      callbackUrl,
      resultJson: json,
      acceptedAt: at,
      retainUntil: new Date(retainUntilMs).toISOString(),
      attemptCount: 0,
      deferralCount: 0,
      dueAt: at,
      resendCount: 0,
    });
  };

  const publishMember = async (watch: Watch | undefined, member: WatchMember): Promise<void> => {
    await publish(watchMember, member);
    // A deleted watch sends nothing.
    if (member.event && watch) await publishEvent(watch, member.event);
    if (!(await members.markSent(member))) await publishNewer({ members, publish }, member);
  };

  return {
    publishEvent,
    publishMember,
    /** Publishes the events that a dead process has left in the outbox. */
    async publishOutbox(partition: number): Promise<void> {
      for (const [uid, memberIds] of groupByWatch(await members.outbox(partition))) {
        const watch = await watches.readByUid(uid);
        for (let at = 0; at < memberIds.length; at += CHUNK) {
          const found = await members.readMany(uid, memberIds.slice(at, at + CHUNK));
          await Promise.all(
            found.map((member) =>
              member && isLeftBehind(member, now()) ? publishMember(watch, member) : undefined,
            ),
          );
        }
      }
    },
  };
}

/** A version is the time of its write. An event is due at once: the record that caused it waits for nothing else. */
const isLeftBehind = ({ event, version }: WatchMember, nowMs: number): boolean =>
  event !== undefined || nowMs - version > WRITTEN_BY_GATEWAY_MS;
