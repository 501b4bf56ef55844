import {
  type Watch,
  type WatchEvent,
  type WatchMember,
  watchMember,
} from '#shared/contracts/watches/watch.ts';
import { memberEventId, WATCH_EVENT_KEPT_MS } from '#shared/contracts/watches/watch-event.ts';
import { firstDelivery, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { groupByWatch } from '#shared/stores/watches/members/watch-member-text.ts';
import { makeLogThrottle } from '#shared/telemetry/log-throttle.ts';
import type { Stores } from '../stores.ts';

/** A gateway that adds or removes a member publishes it itself within this time. */
const WRITTEN_BY_GATEWAY_MS = 10_000;
const LOG_INTERVAL_MS = 10_000;

/**
 * Steps 2 to 4 of a change (README.md): publishes the member's new state, then its event, and then
 * marks the event as sent in the view. A repetition sends the same bytes under the same id.
 */
export function makePublishChanges(deps: Stores) {
  const tooLarge = makeLogThrottle(LOG_INTERVAL_MS);

  async function publishEvent(watch: Watch, { id, json, at }: WatchEvent): Promise<void> {
    const { clientId, accountId, callbackUrl } = watch;
    const retainUntil = new Date(Date.parse(at) + WATCH_EVENT_KEPT_MS).toISOString();
    const about = { requestId: id, clientId, accountId, callbackUrl, acceptedAt: at, retainUntil };
    await deps.publish(webhookRequested, firstDelivery(about, { resultJson: json }));
  }

  /** Publishes a member's new state and its event; of a deleted watch no event. */
  async function publishMember(watch: Watch | undefined, member: WatchMember): Promise<void> {
    const { watchUid, memberId, event: json, sequence, version } = member;
    try {
      await deps.publish(watchMember, member);
      // A version is the time of its write.
      const at = new Date(version).toISOString();
      if (json !== undefined && watch)
        await publishEvent(watch, { id: memberEventId(member, sequence), json, at });
      // Redis may have lost the write, and was restored before the record reached the topic.
      if (!(await deps.members.markSent(member))) await deps.members.project(member, deps.now());
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'message-too-large')) throw error;
      // It stays in the outbox. The other members of the partition, which are those of other
      // clients, must not wait for it.
      const others = tooLarge();
      if (others !== undefined)
        deps.log.error({ watchUid, memberId, others }, 'member is too large to be published');
    }
  }

  return {
    publishEvent,
    publishMember,
    /** Publishes the events that a dead process has left in the outbox of a partition. */
    async publishOutbox(partition: number): Promise<void> {
      for (const [uid, memberIds] of groupByWatch(await deps.members.outbox(partition))) {
        const watch = await deps.watches.readByUid(uid);
        for await (const page of deps.members.readInPages(uid, memberIds))
          await Promise.all(
            page.map((member) =>
              member && isLeftBehind(member, deps.now()) ? publishMember(watch, member) : undefined,
            ),
          );
      }
    },
  };
}

export type PublishChanges = ReturnType<typeof makePublishChanges>;

/** An event is due at once: the record that caused it waits for nothing else. */
const isLeftBehind = ({ event, version }: WatchMember, nowMs: number): boolean =>
  event !== undefined || nowMs - version > WRITTEN_BY_GATEWAY_MS;
