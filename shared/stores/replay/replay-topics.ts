import { randomUUID } from 'node:crypto';
import { audit } from '#shared/contracts/apps/audit.ts';
import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import {
  type BatchPartRequested,
  batchCompleted,
  checkRequestedBatch,
  isLastPart,
  roleIdsOf,
} from '#shared/contracts/batches/batch.ts';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { type CheckRequested, LANES } from '#shared/contracts/checks/check-requested.ts';
import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import { ruleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Topic } from '#shared/contracts/topic.ts';
import { usage } from '#shared/contracts/usage/usage.ts';
import { watch, watchKey, watchMember, watchOfUid, watchUid } from '#shared/contracts/watches/watch.ts';
import { bringsBody, webhookAttempted, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { withLock } from '#shared/redis/script.ts';
import { makeViewState, type Positions, REBUILD_LOCK_RENEW_MS } from '#shared/redis/view.ts';
import { startRepeating } from '#shared/repeat.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { type BodyRecord, evaluatedOf, type SaveResult, savingOf } from '../checks/results.ts';
import { deliveryEndsAt } from '../webhooks/deliveries.ts';
import { applyRecords } from './apply-records.ts';
import { type OpenViews, openViews } from './open-views.ts';
import { positionName } from './positions.ts';
import type { RestoredClaim } from './restore-admission.ts';
import { Totals } from './totals.ts';

/** If the system was last open longer ago than this, everything is read from the beginning. */
const POSITIONS_MS_MAX = HOUR_MS;
/** Allows for the publisher's clock, whose time a record has, and for records that are applied
 * before they are published. */
const MARGIN_MS = 120_000;

/** No delivery is shown for longer: a result is kept for at most 7 days, and its webhook ends earlier. */
const DELIVERY_SHOWN_MS_MAX = 8 * DAY_MS;

export type Replay = {
  readonly kafka: Pick<KafkaConnection, 'readTopic'>;
  readonly redis: Redis;
  /** Epoch ms, Redis's clock: records whose retention ended before then are skipped. */
  readonly now: () => number;
  readonly log: Logger;
};

export type ReplayOptions = {
  /** Called when the system is open again; the results are not back then. */
  readonly onOpen?: () => void;
  /** Ends the replay, which another process then does again. */
  readonly stopping?: AbortSignal;
};

export type ReplayCounts = Readonly<Record<string, number>>;

/**
 * Makes the views again from the topics: the steps of README.md. What Redis still holds is kept, so a
 * repetition, after a crash at any step, changes nothing that was restored.
 *
 * @returns nothing if another process replays
 * @throws ServiceError `view-rebuilding` if Redis was wiped or replaced again meanwhile: to be started
 *   over
 */
export async function replayTopics(
  { kafka, redis, now, log }: Replay,
  { onOpen, stopping }: ReplayOptions = {},
): Promise<ReplayCounts | undefined> {
  const began = performance.now();
  return underLock(redis, async (views, lost) => {
    const signal = stopping ? AbortSignal.any([lost, stopping]) : lost;
    const nowMs = now();
    const last = await views.views.readLast(nowMs - POSITIONS_MS_MAX);
    const seenMs = last.positions.size === 0 ? 0 : last.seenAtMs - MARGIN_MS;
    const reader = makeReader({ kafka, log, signal }, last.positions, (keptMs) =>
      Math.max(nowMs - keptMs, seenMs),
    );
    const { isFull } = reader;
    const totals = new Totals(nowMs, isFull ? Infinity : last.seenAtMs);
    await Promise.all([
      replayDocuments(reader, views, nowMs),
      replayDeliveries(reader, views, nowMs),
      replayLanes(reader, views, nowMs, totals),
    ]);
    await totals.restore(views);
    await views.views.open();
    onOpen?.();
    // A Redis that lost the last writes alone lacks the figures of the results that it lacks.
    await replayResults(reader, views, now, (check) => isFull && totals.mayHave(check));
    await views.views.finish(reader.ends);
    log[isFull ? 'info' : 'warn'](
      { ...reader.counts, durationMs: Math.round(performance.now() - began) },
      isFull ? 'views rebuilt' : 'Redis was replaced: newest records of every topic read again',
    );
    return reader.counts;
  });
}

type Reader = ReturnType<typeof makeReader>;

function makeReader(
  { kafka, log, signal }: Pick<Replay, 'kafka' | 'log'> & { readonly signal: AbortSignal },
  positions: Positions,
  sinceMsOf: (keptMs: number) => number,
) {
  const ends = new Map<string, number>();
  const counts: Record<string, number> = {};
  const read = <M>(
    topic: Topic<M>,
    from: { readonly from: ReadonlyMap<number, number> } | { readonly sinceMs: number },
    apply: (message: M) => Promise<unknown>,
  ) => {
    signal.throwIfAborted();
    return kafka.readTopic({
      topic: topic.name,
      ...from,
      signal,
      async apply(records) {
        await applyRecords(topic, records, apply, log);
        counts[topic.name] = (counts[topic.name] ?? 0) + records.length;
      },
    });
  };
  return {
    /** Reads a topic whose views the result-store writes: from the position that is stored with them.
     * What an evaluator or a dispatcher saved before, the result-store has saved too by then. */
    async fromPosition<M>(topic: Topic<M>, apply: (message: M) => Promise<unknown>): Promise<void> {
      for (const [partition, end] of await read(topic, { from: positionsOf(topic.name, positions) }, apply))
        ends.set(positionName(topic.name, partition), end);
    },
    /** Reads a topic whose views others write: the records of so long, or those since shortly before
     * the system was last seen open. */
    async newest<M>(topic: Topic<M>, keptMs: number, apply: (message: M) => Promise<unknown>): Promise<void> {
      await read(topic, { sinceMs: sinceMsOf(keptMs) }, apply);
    },
    isFull: positions.size === 0,
    ends,
    counts,
  };
}

const positionsOf = (topic: string, positions: Positions): Map<number, number> =>
  new Map(
    [...positions].flatMap(([name, offset]) => {
      const slash = name.lastIndexOf('/');
      return name.slice(0, slash) === topic ? [[Number(name.slice(slash + 1)), offset] as const] : [];
    }),
  );

/** Watches before their members: those of a watch that is gone, or was made again since, stay out of
 * the view. */
async function replayDocuments(
  { fromPosition, isFull }: Reader,
  { accounts, clientApps, ruleSets, watches, watchMembers, auditTrail }: OpenViews,
  nowMs: number,
): Promise<void> {
  await fromPosition(account, accounts.project);
  await fromPosition(clientApp, clientApps.project);
  await fromPosition(ruleSet, ruleSets.project);
  const uids = new Map<string, string>();
  await fromPosition(watch, async (message) => {
    await watches.project(message);
    uids.set(watchKey(message), message.deletedAt === undefined ? watchUid(message) : '');
  });
  await fromPosition(watchMember, async (message) => {
    const uid = uids.get(watchKey(watchOfUid(message.watchUid))) ?? (isFull ? '' : message.watchUid);
    if (uid === message.watchUid) await watchMembers.project(message, nowMs);
  });
  await fromPosition(audit, auditTrail.record);
}

/** Before the bodies: they tell which bodies are kept beyond their retention. */
const replayDeliveries = ({ newest }: Reader, { deliveries }: OpenViews, nowMs: number): Promise<void> =>
  newest(webhookAttempted, DELIVERY_SHOWN_MS_MAX, async (message) => {
    if (deliveryEndsAt(message) > nowMs) await deliveries.record(message);
  });

/** Reads the totals, and then the lanes: the charges since, the idempotency claims and the open
 * batches. */
async function replayLanes(
  { newest }: Reader,
  { admission, batches }: OpenViews,
  nowMs: number,
  totals: Totals,
): Promise<void> {
  await newest(usage, Infinity, async (message) => totals.add(message));
  const restoreClaim = async (message: CheckRequested | BatchPartRequested) => {
    const claim = claimOf(message);
    if (claim) await admission.claim(claim, nowMs);
  };
  for (const lane of Object.values(LANES))
    await newest(lane, DAY_MS, async (message) => {
      totals.addCheck(message);
      await restoreClaim(message);
    });
  await newest(checkRequestedBatch, Infinity, async (part) => {
    totals.addPart(part);
    await restoreClaim(part);
    // A sweep of a watch is no batch.
    if (part.delivery.mode !== 'watch' && Date.parse(part.retainUntil) > nowMs)
      await batches.register({ ...part, roleIds: roleIdsOf(part.rules) }, isLastPart(part));
  });
}

function claimOf(message: CheckRequested | BatchPartRequested): RestoredClaim | undefined {
  const { requestId, clientId, chargedMonth: month, idempotency, acceptedAt } = message;
  const isPublished = !('part' in message) || isLastPart(message);
  const acceptedAtMs = Date.parse(acceptedAt);
  return idempotency && { ...idempotency, requestId, clientId, month, acceptedAtMs, isPublished };
}

/**
 * Saves results, bodies of webhooks, and parts, as the result-store does; the first one wins.
 *
 * @param isCounted whether the figures and the refund of a check may be in Redis already: then the
 *   replay gives neither
 */
async function replayResults(
  { fromPosition, isFull }: Reader,
  { results, batches, checkLog, webhookBodies }: OpenViews,
  now: () => number,
  isCounted: (check: Pick<CheckRequested, 'clientId' | 'acceptedAt'>) => boolean,
): Promise<void> {
  /** How long a body is kept at least, because its delivery may be open. */
  const keepMsOf = async ({ keepMs = 0, ...saving }: SaveResult, acceptedAt: string): Promise<number> => {
    const nowMs = now();
    const mayOutlast = keepMs > 0 && saving.retainUntil < nowMs + keepMs;
    return mayOutlast ? webhookBodies.keepMsOf({ ...saving, acceptedAt }, nowMs) : keepMs;
  };
  const saveBody = async (body: BodyRecord): Promise<void> => {
    const { counted, refund, ...saving } = savingOf(body);
    const isInRedis = isCounted(body);
    const keepMs = await keepMsOf(saving, body.acceptedAt);
    const isKept = saving.retainUntil > now() || keepMs > 0;
    // The only save of a polled check counts it, even after its retention.
    const isToCount = !isInRedis && evaluatedOf(body)?.mode === 'poll';
    if (isKept || isToCount)
      await results.saveIfAbsent({
        ...{ ...saving, keepMs },
        ...(counted && { counted: isInRedis ? { ...counted, figures: {} } : counted }),
        ...(refund && !isInRedis && { refund }),
      });
    else if (counted) await checkLog.restore(counted);
  };
  await fromPosition(checkCompleted, saveBody);
  await fromPosition(webhookRequested, async (message) => {
    if (bringsBody(message)) await saveBody(message);
  });
  await fromPosition(batchCompleted, async (part) => {
    if (!isFull || Date.parse(part.retainUntil) > now())
      await batches.savePart(part, { isTallied: !isCounted(part) });
  });
}

/** Does work on the views under the rebuild lock, which every write checks. Returns the result of
 * the work, or nothing if another process holds the lock. */
async function underLock<T>(
  redis: Redis,
  work: (locked: OpenViews, lost: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const views = makeViewState(redis);
  const token = randomUUID();
  if (!(await views.lock(token))) return undefined;
  const lost = new AbortController();
  const renew = async () => {
    if (!(await views.renewLock(token)))
      throw new ServiceError('view-rebuilding', 'the rebuild lock is lost');
  };
  const renewal = startRepeating(renew, {
    intervalMs: REBUILD_LOCK_RENEW_MS,
    onError: (error) => lost.abort(error),
  });
  try {
    return await work(openViews(withLock(redis, token)), lost.signal);
  } catch (error) {
    // Else the next try would wait for the lock to end. Where Redis is away, it does.
    await views.releaseLock(token).catch(() => undefined);
    throw error;
  } finally {
    renewal.stop();
    // Where one reader failed, the others end too.
    lost.abort();
  }
}
