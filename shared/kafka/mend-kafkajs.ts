import { createRequire } from 'node:module';
import type { KafkaJSError } from 'kafkajs';

type RequestQueue = { pending: unknown[]; scheduleCheckPendingRequests: () => void };
type ConsumerGroup = {
  readonly groupId: string;
  /** Absent until the first join. */
  readonly memberId: string | null;
  joinAndSync: () => Promise<void>;
  heartbeat: (options: { readonly interval: number }) => Promise<void>;
};

const load = createRequire(import.meta.url);
const errors = load('kafkajs/src/errors') as { readonly KafkaJSError: typeof KafkaJSError };
let mended = false;
/** By group: what its consumers in this process do before they join again. */
const settling = new Map<string, Set<() => Promise<void>>>();

/** Mends two faults of kafkajs 2.2.4 in its own classes, once for the process; before the first client is made. */
export function mendKafkajs(): void {
  if (mended) return;
  mended = true;
  mendRequestQueue((load('kafkajs/src/network/requestQueue') as { prototype: RequestQueue }).prototype);
  mendMembership((load('kafkajs/src/consumer/consumerGroup') as { prototype: ConsumerGroup }).prototype);
}

/**
 * Its request queue re-arms a timer with a negative delay although nothing is pending, 880 times a second on every
 * connection (tulios/kafkajs #1704, #1751). Whatever becomes pending calls the method again, so nothing can be
 * forgotten.
 */
function mendRequestQueue(prototype: RequestQueue): void {
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function scheduleIfPending() {
    if (this.pending.length > 0) schedule.call(this);
  };
}

/**
 * A member that is told to join again, and whose join fails for anything but another rebalance (a coordinator that is
 * loading, a connection that broke), fetches on outside of its group: it has no member id, without one a heartbeat
 * does nothing, so nobody ever tells it. It reads what is another's by then, and none of its commits counts.
 *
 * Here a heartbeat of one that is outside says that a rejoin is needed, as the coordinator would: its loop joins
 * again, and after as many failures as any request may have, the consumer crashes and is started anew.
 */
function mendMembership(prototype: ConsumerGroup): void {
  const { joinAndSync, heartbeat } = prototype;
  const outside = new WeakSet<ConsumerGroup>();
  prototype.joinAndSync = async function joinAgain() {
    if (this.memberId) await settle(this.groupId);
    outside.add(this);
    await joinAndSync.call(this);
    outside.delete(this);
  };
  prototype.heartbeat = async function heartbeatInside(options) {
    if (outside.has(this)) throw rejoinNeeded();
    return heartbeat.call(this, options);
  };
}

/**
 * Has `work` waited for whenever consumers of a group in this process are about to join again: until they do, their
 * commits count. kafkajs tells of a rebalance and joins at once. Meanwhile it sends no heartbeat, so `work` must end
 * well within the session's timeout.
 *
 * @returns what ends it
 */
export function settleBeforeJoin(groupId: string, work: () => Promise<void>): () => void {
  const works = settling.get(groupId) ?? new Set();
  settling.set(groupId, works.add(work));
  return () => {
    works.delete(work);
    if (works.size === 0) settling.delete(groupId);
  };
}

async function settle(groupId: string): Promise<void> {
  await Promise.all([...(settling.get(groupId) ?? [])].map((work) => work()));
}

const rejoinNeeded = (): Error =>
  Object.assign(new errors.KafkaJSError('the last join failed', { retriable: true }), {
    type: 'REBALANCE_IN_PROGRESS',
  });
