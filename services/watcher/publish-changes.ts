import { createHash } from 'node:crypto';
import {
  uidOfMember,
  type Watch,
  type WatchEvent,
  type WatchMember,
  watchMember,
  watchOfUid,
} from '#shared/contracts/watch.ts';
import { webhookRequested } from '#shared/contracts/webhook.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Results } from '#shared/redis/results.ts';
import type { WatchMembers } from '#shared/redis/watch-members.ts';
import type { Watches } from '#shared/redis/watches.ts';

/** How long an event can be sent again on request. */
const EVENT_KEPT_MS = 72 * 3_600_000;

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  readonly results: Pick<Results, 'saveIfAbsent'>;
  readonly members: Pick<WatchMembers, 'markSent' | 'outbox' | 'readMany'>;
  readonly watches: Pick<Watches, 'read'>;
};

export type PublishChanges = ReturnType<typeof makePublishChanges>;

/**
 * The second half of a change; see README.md. The view has the member's new state and its event; here both go to their
 * topics, the state first, and then the view learns that they are there. Doing it twice sends the same bytes under the
 * same id.
 */
export function makePublishChanges({ publish, results, members, watches }: Dependencies) {
  const publishEvent = async (
    { clientId, callbackUrl }: Pick<Watch, 'clientId' | 'callbackUrl'>,
    { id, json, at }: WatchEvent,
  ): Promise<void> => {
    const retainUntilMs = Date.parse(at) + EVENT_KEPT_MS;
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
    // A watch that is gone tells nobody.
    if (member.event && watch) await publishEvent(watch, member.event);
    await members.markSent(member);
  };

  return {
    publishEvent,
    publishMember,
    /** Publishes what a process that died has left behind. */
    async publishOutbox(partition: number): Promise<void> {
      const names = await members.outbox(partition);
      for (const { uid, memberId } of names) {
        const { clientId, watchId } = watchOfUid(uid);
        const [member] = await members.readMany(uid, [memberId]);
        if (member) await publishMember(await watches.read(clientId, watchId), member);
      }
    },
  };
}

/** The id of a member's event: the same however often it is made, and of no other event. */
export const eventIdOf = (member: WatchMember, sequence: number): string =>
  hashId(`${uidOfMember(member)}/${member.memberId}/${member.addedAt}/${sequence}`);

export const hashId = (text: string): string =>
  `watch_${createHash('sha256').update(text).digest('base64url').slice(0, 32)}`;
