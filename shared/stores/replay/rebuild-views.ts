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
import { ruleSet } from '#shared/contracts/rules/rule-set.ts';
import { erasesDocument, parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { type Usage, usage } from '#shared/contracts/usage/usage.ts';
import { uidOfMember, watch, watchKey, watchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import { bringsBody, webhookAttempted, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { isRetriable, ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { TopicRecord } from '#shared/kafka/read-topic.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { withLock } from '#shared/redis/script.ts';
import { makeViewState, type Positions, REBUILD_LOCK_RENEW_MS } from '#shared/redis/view.ts';
import { startRepeating } from '#shared/repeat.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { Batches } from '../batches/batches.ts';
import { type BodyRecord, evaluatedOf, type SaveResult, savingOf } from '../checks/results.ts';
import { DAY_KEPT_MS, dayOfDate, hourOf } from '../usage/usage-days.ts';
import { deliveryEndsAt } from '../webhooks/deliveries.ts';
import type { WebhookBodies } from '../webhooks/webhook-bodies.ts';
import { ChargeCount } from './count-charges.ts';
import { DayCount } from './count-days.ts';
import { openViews } from './open-views.ts';
import { positionName } from './positions.ts';
import type { RestoredClaim } from './restore-admission.ts';

export type Rebuild = {
  readonly kafka: Pick<KafkaConnection, 'readTopic'>;
  readonly redis: Redis;
  /** Epoch ms: records whose retention ended before then are skipped. */
  readonly now: () => number;
  readonly log: Logger;
};

/** What a rebuild writes: the views, on a connection that checks the rebuild lock. */
export type LockedViews = ReturnType<typeof openViews> & Pick<Rebuild, 'kafka' | 'now' | 'log'>;

export type RebuildCounts = Readonly<
  Record<
    | 'accounts'
    | 'clientApps'
    | 'ruleSets'
    | 'watches'
    | 'watchMembers'
    | 'audit'
    | 'claims'
    | 'counters'
    | 'days'
    | 'results'
    | 'parts'
    | 'attempts',
    number
  >
>;

/**
 * Rebuilds the Redis views from the topics and then marks them as complete.
 *
 * One process rebuilds at a time, under a lock that every write checks. Each topic is read in
 * offset order, so that the first result of a check stays the same. Processes that need a view wait
 * meanwhile.
 *
 * @returns the counts of applied records, or nothing if another process rebuilds
 * @throws ServiceError `view-rebuilding` if Redis was wiped again meanwhile; start over
 */
export async function rebuildViews(rebuild: Rebuild): Promise<RebuildCounts | undefined> {
  const began = Date.now();
  const done = await underRebuildLock(rebuild, (views, signal) => applyAll(views, signal));
  if (!done) return undefined;
  rebuild.log.info({ ...done.counts, durationMs: Date.now() - began }, 'views rebuilt');
  return done.counts;
}

type Counts = { -readonly [Name in keyof RebuildCounts]: number };

async function applyAll(
  rebuild: LockedViews,
  signal: AbortSignal,
): Promise<{ counts: RebuildCounts; positions: Positions }> {
  const positions = new Map<string, number>();
  const counts: Counts = {
    accounts: 0,
    clientApps: 0,
    ruleSets: 0,
    watches: 0,
    watchMembers: 0,
    audit: 0,
    claims: 0,
    counters: 0,
    days: 0,
    results: 0,
    parts: 0,
    attempts: 0,
  };
  const follow: Follow = async (topic, apply) => {
    const ends = await rebuild.kafka.readTopic({
      topic: topic.name,
      signal,
      apply: (records) => applyRecords(topic, records, apply, rebuild.log),
    });
    for (const [partition, end] of ends) positions.set(positionName(topic.name, partition), end);
  };
  await applyApps(rebuild, follow, counts);
  const tally = { charges: new ChargeCount(rebuild.now()), days: new DayCount(rebuild.now()) };
  await applyAdmissions(rebuild, follow, counts, tally);
  await applyOutcomes(rebuild, follow, counts, tally);
  await applyTally(rebuild, counts, tally);
  return { counts, positions };
}

/** State that is computed from several topics and restored at the end. */
type Tally = { readonly charges: ChargeCount; readonly days: DayCount };

async function applyTally(rebuild: LockedViews, counts: Counts, { charges, days }: Tally): Promise<void> {
  for (const month of charges.charges()) {
    await rebuild.admission.counter(month);
    counts.counters++;
  }
  const oldest = dayOfDate(new Date(rebuild.now() - DAY_KEPT_MS).toISOString().slice(0, 10));
  for (const { clientId, date, figures } of days.days()) {
    const day = dayOfDate(date);
    if (day < oldest) continue;
    await rebuild.usageDays.restore(clientId, day, figures);
    counts.days++;
  }
  for (const { clientId, hour, figures } of days.hours())
    await rebuild.usageDays.restoreHour(clientId, hourOf(Date.parse(`${hour}:00:00Z`)), figures);
}

type Follow = <M>(topic: Topic<M>, apply: (message: M) => Promise<unknown>) => Promise<void>;

async function applyApps(
  { accounts, clientApps, ruleSets, watches, watchMembers, auditTrail, now }: LockedViews,
  follow: Follow,
  counts: Counts,
) {
  await follow(account, async (message) => {
    if (await accounts.project(message)) counts.accounts++;
  });
  await follow(clientApp, async (message) => {
    if (await clientApps.project(message)) counts.clientApps++;
  });
  await follow(ruleSet, async (message) => {
    if (await ruleSets.project(message)) counts.ruleSets++;
  });
  // Members of a watch that is gone, or was made again since, stay out of the view.
  const uids = new Map<string, string>();
  await follow(watch, async (message) => {
    if (await watches.project(message)) counts.watches++;
    uids.set(watchKey(message), message.deletedAt === undefined ? watchUid(message) : '');
  });
  await follow(watchMember, async (message) => {
    if (uids.get(watchKey(message)) !== uidOfMember(message)) return;
    if (await watchMembers.project(message, now())) counts.watchMembers++;
  });
  await follow(audit, async (message) => {
    await auditTrail.record(message);
    counts.audit++;
  });
}

/** The state of admission: the hours' figures, the idempotency claims, and the charges of accepted
 * checks. */
async function applyAdmissions(
  { admission, batches, usageFigures, now }: LockedViews,
  follow: Follow,
  counts: Counts,
  { charges, days }: Tally,
): Promise<void> {
  const nowMs = now();
  const recent = new Map<string, Usage>();
  await follow(usage, async (message) => {
    charges.addTotal(message);
    days.addTotal(message);
    if (hourOfUsage(message) < hourOf(nowMs) - 1) return;
    // By the instant it was read at: of two publishers the slow one may have written last.
    const key = usage.keyOf(message);
    if (message.asOf >= (recent.get(key)?.asOf ?? '')) recent.set(key, message);
  });
  for (const message of recent.values())
    await usageFigures.restore({ ...message, hour: hourOfUsage(message) });
  for (const lane of Object.values(LANES))
    await follow(lane, async (message) => {
      charges.addCheck(message);
      const claim = claimOf(message);
      if (!claim) return;
      await admission.claim(claim, nowMs);
      counts.claims++;
    });
  await follow(checkRequestedBatch, async (part) => {
    charges.addPart(part);
    const claim = claimOf(part);
    if (claim) await admission.claim(claim, nowMs);
    if (claim && part.part === 0) counts.claims++;
    await registerPart(batches, part, nowMs);
  });
}

/** Registers the batch that a part belongs to; a sweep of a watch is none. */
export async function registerPart(
  batches: Pick<Batches, 'register'>,
  part: BatchPartRequested,
  nowMs: number,
): Promise<void> {
  if (part.delivery.mode === 'watch' || Date.parse(part.retainUntil) <= nowMs) return;
  await batches.register({ ...part, roleIds: roleIdsOf(part.rules) }, isLastPart(part));
}

/** The claim that a check holds, if it was sent with an idempotency key. */
export function claimOf(message: CheckRequested | BatchPartRequested): RestoredClaim | undefined {
  const { requestId, clientId, chargedMonth: month, idempotency, acceptedAt } = message;
  const isPublished = !('part' in message) || isLastPart(message);
  const acceptedAtMs = Date.parse(acceptedAt);
  return idempotency && { ...idempotency, requestId, clientId, month, acceptedAtMs, isPublished };
}

const hourOfUsage = ({ hour }: Usage): number => hourOf(Date.parse(`${hour}:00:00Z`));

/** Deliveries before bodies: they tell which bodies are kept beyond their retention. */
async function applyOutcomes(
  rebuild: LockedViews,
  follow: Follow,
  counts: Counts,
  { charges, days }: Tally,
): Promise<void> {
  const { results, batches, checkLog, deliveries, now } = rebuild;
  const applyBody = async (body: BodyRecord) => {
    const check = evaluatedOf(body);
    if (check) charges.addResult(check);
    if (check) days.addResult(check);
    // Counters and days are worked out by the tally: a refund or a count here would be a second
    // one.
    const { refund: _, counted, ...saving } = savingOf(body);
    const kept = await keptInReplay(rebuild, saving, body.acceptedAt);
    if (kept) {
      const logged = counted && { counted: { ...counted, figures: {} } };
      await results.saveIfAbsent({ ...kept, ...logged });
      counts.results++;
    } else if (counted) await checkLog.restore(counted);
  };
  await follow(webhookAttempted, async (message) => {
    if (deliveryEndsAt(message) <= now()) return;
    await deliveries.record(message);
    counts.attempts++;
  });
  await follow(checkCompleted, applyBody);
  await follow(webhookRequested, async (message) => {
    if (bringsBody(message)) await applyBody(message);
  });
  await follow(batchCompleted, async (part) => {
    charges.addPartResult(part);
    days.addPart(part);
    if (Date.parse(part.retainUntil) <= now()) return;
    await batches.savePart(part, { isTallied: false });
    counts.parts++;
  });
}

/** Records applied at once, and their bytes. Their commands share a round trip. */
const APPLY_BATCH_MAX = 500;
const APPLY_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Applies records in order: sent together and answered together, since one connection keeps their
 * order. An unreadable record was dead-lettered by its consumer and is passed over here. So is one
 * that erases a document: its tombstone is before it as long as any record of it is, and the view
 * drops that again.
 */
export async function applyRecords<M>(
  topic: Topic<M>,
  records: readonly TopicRecord[],
  apply: (message: M) => Promise<unknown>,
  log: Logger,
): Promise<void> {
  for (let next = 0; next < records.length; ) {
    const end = endOfBatch(records, next);
    const batch = records.slice(next, end).map(async ({ value, offset }) => {
      if (erasesDocument(topic, value)) return;
      try {
        await apply(parseMessage(topic, value));
      } catch (error) {
        if (isRetriable(error)) throw error;
        log.warn({ topic: topic.name, offset }, 'record skipped in a rebuild');
      }
    });
    await Promise.all(batch);
    next = end;
  }
}

/** The index after the last record that is applied together with the first. */
function endOfBatch(records: readonly TopicRecord[], first: number): number {
  let bytes = 0;
  for (let end = first; end < records.length; end++) {
    bytes += records[end]?.value?.length ?? 0;
    if (end > first && (bytes > APPLY_BYTES_MAX || end - first >= APPLY_BATCH_MAX)) return end;
  }
  return records.length;
}

type BodyDependencies = {
  readonly webhookBodies: Pick<WebhookBodies, 'keepMsOf'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/**
 * What to save of a body in a replay: nothing if its retention has ended, unless its delivery may be
 * open, for which it is kept. The deliveries must have been restored before.
 */
export async function keptInReplay<S extends SaveResult>(
  { webhookBodies, now }: BodyDependencies,
  saving: S,
  acceptedAt: string,
): Promise<S | undefined> {
  const nowMs = now();
  const mayOutlast = saving.keepMs !== undefined && saving.retainUntil < nowMs + saving.keepMs;
  if (!mayOutlast) return saving.retainUntil > nowMs ? saving : undefined;
  const keepMs = await webhookBodies.keepMsOf({ ...saving, acceptedAt }, nowMs);
  return keepMs > 0 || saving.retainUntil > nowMs ? { ...saving, keepMs } : undefined;
}

/**
 * Does work on the views under the rebuild lock, which every write checks, and declares them
 * complete up to the positions that it returns.
 *
 * @returns the result of the work, or nothing if another process holds the lock
 * @throws ServiceError `view-rebuilding` when Redis was wiped or replaced meanwhile: to be started
 *   over
 */
export async function underRebuildLock<T extends { readonly positions: Positions }>(
  { redis, kafka, now, log }: Rebuild,
  work: (locked: LockedViews, signal: AbortSignal) => Promise<T>,
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
    const locked = openViews(withLock(redis, token));
    const done = await work({ ...locked, kafka, now, log }, lost.signal);
    if (!(await views.finish(token, done.positions)))
      throw new ServiceError('view-rebuilding', 'the rebuild lock is lost');
    return done;
  } catch (error) {
    // Else the next try would wait for the lock to end. Where Redis is away, it does.
    await views.releaseLock(token).catch(() => undefined);
    throw error;
  } finally {
    renewal.stop();
  }
}
