import { audit } from '#shared/contracts/apps/audit.ts';
import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import {
  type BatchPartRequested,
  batchCompleted,
  checkRequestedBatch,
} from '#shared/contracts/batches/batch.ts';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { type CheckRequested, LANES } from '#shared/contracts/checks/check-requested.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { ruleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Topic } from '#shared/contracts/topic.ts';
import { watch, watchMember } from '#shared/contracts/watches/watch.ts';
import { bringsBody, webhookAttempted, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import type { LastSeen, Positions } from '#shared/redis/view.ts';
import { positionName } from '#shared/stores/replay/positions.ts';
import { type BodyRecord, evaluatedOf, savingOf } from '../checks/results.ts';
import { countLost, TailCount } from './count-lost.ts';
import {
  applyRecords,
  claimOf,
  keptInReplay,
  type LockedViews,
  type Rebuild,
  rebuildViews,
  registerPart,
  underRebuildLock,
} from './rebuild-views.ts';

/**
 * If the views were last complete longer ago than this, or never, they are rebuilt: the hourly
 * figures, which tell the counted checks, would have expired.
 */
const TAIL_MS_MAX = HOUR_MS;
/** Allows for the publisher's clock, whose time a record has, and for records that are applied
 * before they are published. */
const MARGIN_MS = 120_000;

type TailCounts = Readonly<
  Record<'documents' | 'audit' | 'charges' | 'results' | 'parts' | 'attempts', number>
>;

/**
 * Completes the views on a Redis that was restarted or replaced, and may lack the last writes that
 * were acknowledged: reads the topics from where that Redis is, and declares the views complete.
 *
 * Views that the result-store writes are read from the position that is stored with them: what an
 * evaluator or a dispatcher saved before, the result-store has saved too by then. Other views that a
 * gateway or a dispatcher writes are read from a margin before the views were last seen complete.
 * Applying a record again changes nothing.
 *
 * | view | read from | data that is in no topic |
 * | --- | --- | --- |
 * | results, parts of batches, refunds, figures of the day | `check.completed`, `webhook.requested`, `batch.completed` | refusals of the lost second are missing in the figures |
 * | bodies of batches, events of watches, quota alerts, test events | `webhook.requested` | |
 * | accounts, client apps, rule sets, audit trail | their topics | |
 * | deliveries | `webhook.attempted` | claims: an attempt may be made twice, with one id and the same bytes |
 * | the month's counters, the hour's accepted, claims of idempotency keys | the lanes, against the last millisecond that was counted | a refund for a check that was never published: it was answered 503 |
 * | logs of the rate limit, sessions, last use of a key | nothing | the lost second counts towards no limit |
 *
 * @returns the counts of applied records, or nothing if another process rebuilds
 * @throws ServiceError `view-rebuilding` when Redis was replaced again meanwhile: to be started
 *   over
 */
export async function restoreTail(rebuild: Rebuild): Promise<TailCounts | undefined> {
  const began = Date.now();
  let isTooOld = false;
  const done = await underRebuildLock(rebuild, async (locked, signal) => {
    const last = await locked.views.readLast();
    isTooOld = last.atMs === undefined || rebuild.now() - last.atMs > TAIL_MS_MAX;
    if (isTooOld) throw new Error('too much was lost to repair: rebuilding all views');
    return applyTails(locked, signal, last);
  }).catch((error: unknown) => {
    if (!isTooOld) throw error;
    return undefined;
  });
  if (isTooOld) {
    const counts = await rebuildViews(rebuild);
    return (
      counts && {
        ...counts,
        documents:
          counts.accounts + counts.clientApps + counts.ruleSets + counts.watches + counts.watchMembers,
        charges: counts.counters,
      }
    );
  }
  if (!done) return undefined;
  rebuild.log.warn(
    { ...done.counts, durationMs: Date.now() - began },
    'Redis was replaced: newest records of every topic read again',
  );
  return done.counts;
}

type Tail = {
  /** Reads from where this Redis is. */
  readonly fromPosition: <M>(topic: Topic<M>, apply: Apply<M>) => Promise<void>;
  /** Reads from a margin before the views were last seen complete. */
  readonly fromLastSeen: <M>(topic: Topic<M>, apply: Apply<M>) => Promise<void>;
};
type Apply<M> = (message: M) => Promise<unknown>;

async function applyTails(
  rebuild: LockedViews,
  signal: AbortSignal,
  last: LastSeen,
): Promise<{ counts: TailCounts; positions: Positions }> {
  const positions = new Map<string, number>();
  const counts = { documents: 0, audit: 0, charges: 0, results: 0, parts: 0, attempts: 0 };
  const read = async <M>(
    topic: Topic<M>,
    from: { from: Map<number, number> } | { sinceMs: number },
    apply: Apply<M>,
  ) =>
    rebuild.kafka.readTopic({
      topic: topic.name,
      ...from,
      signal,
      apply: (records) => applyRecords(topic, records, apply, rebuild.log),
    });
  const tail: Tail = {
    async fromPosition(topic, apply) {
      const ends = await read(topic, { from: positionsOf(topic.name, last.positions) }, apply);
      for (const [partition, end] of ends) positions.set(positionName(topic.name, partition), end);
    },
    async fromLastSeen(topic, apply) {
      await read(topic, { sinceMs: (last.atMs ?? 0) - MARGIN_MS }, apply);
    },
  };
  // Charges before results: a result that refunds its check finds it counted. Deliveries before
  // bodies.
  await Promise.all([
    applyDocuments(rebuild, tail, counts),
    applyCharges(rebuild, tail, last.chargedUntilMs, counts),
    applyDeliveries(rebuild, tail, counts),
  ]);
  const applyBody = async (body: BodyRecord) => {
    const saving = savingOf(body);
    const isPolled = evaluatedOf(body)?.mode === 'poll';
    // The only save of a polled check counts it, even after its retention.
    const kept = isPolled ? saving : await keptInReplay(rebuild, saving, body.acceptedAt);
    if (!kept) return;
    await rebuild.results.saveIfAbsent(kept);
    counts.results++;
  };
  await tail.fromPosition(checkCompleted, applyBody);
  await tail.fromPosition(webhookRequested, async (message) => {
    if (bringsBody(message)) await applyBody(message);
  });
  await tail.fromPosition(batchCompleted, async (part) => {
    await rebuild.batches.savePart(part);
    counts.parts++;
  });
  return { counts, positions };
}

type Counts = { -readonly [Name in keyof TailCounts]: number };

async function applyDocuments(
  { accounts, clientApps, ruleSets, watches, watchMembers, auditTrail, now }: LockedViews,
  { fromPosition }: Tail,
  counts: Counts,
): Promise<void> {
  await Promise.all([
    fromPosition(account, async (message) => {
      if (await accounts.project(message)) counts.documents++;
    }),
    fromPosition(clientApp, async (message) => {
      if (await clientApps.project(message)) counts.documents++;
    }),
    fromPosition(ruleSet, async (message) => {
      if (await ruleSets.project(message)) counts.documents++;
    }),
    fromPosition(watch, async (message) => {
      if (await watches.project(message)) counts.documents++;
    }),
    fromPosition(watchMember, async (message) => {
      if (await watchMembers.project(message, now())) counts.documents++;
    }),
    fromPosition(audit, async (message) => {
      await auditTrail.record(message);
      counts.audit++;
    }),
  ]);
}

async function applyCharges(
  { admission, batches, now }: LockedViews,
  { fromLastSeen }: Tail,
  chargedUntilMs: number,
  counts: Counts,
): Promise<void> {
  const tail = new TailCount();
  const nowMs = now();
  const restoreClaim = async (message: CheckRequested | BatchPartRequested) => {
    const claim = claimOf(message);
    if (claim) await admission.claim(claim, nowMs);
  };
  await Promise.all([
    ...Object.values(LANES).map((lane) =>
      fromLastSeen(lane, async (message) => {
        tail.add(message);
        await restoreClaim(message);
      }),
    ),
    fromLastSeen(checkRequestedBatch, async (part) => {
      tail.addPart(part);
      await restoreClaim(part);
      await registerPart(batches, part, nowMs);
    }),
  ]);
  for (const { times, ...hour } of tail.hours()) {
    const before = await admission.lastAdmitted(hour);
    const lost = countLost(times, before, chargedUntilMs);
    if (!lost) continue;
    await admission.addCharges({ ...hour, ...lost, before });
    counts.charges += lost.count;
  }
}

async function applyDeliveries(
  { deliveries }: LockedViews,
  { fromLastSeen }: Tail,
  counts: Counts,
): Promise<void> {
  await fromLastSeen(webhookAttempted, async (message) => {
    await deliveries.record(message);
    counts.attempts++;
  });
}

const positionsOf = (topic: string, positions: Positions): Map<number, number> =>
  new Map(
    [...positions].flatMap(([name, offset]) => {
      const slash = name.lastIndexOf('/');
      return name.slice(0, slash) === topic ? [[Number(name.slice(slash + 1)), offset] as const] : [];
    }),
  );
