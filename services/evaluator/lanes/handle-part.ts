import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import {
  type BatchEntry,
  BatchPartCompleted,
  type BatchPartRequested,
  ENTRY_READS_MAX,
  PART_READS_MAX,
} from '#shared/contracts/batches/batch.ts';
import { makeReadCounter, READS_MAX } from '#shared/contracts/rules/count-reads.ts';
import { chainsAtOneInstant } from '#shared/contracts/rules/rule.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import type { PerformReads } from '../chain/connect-chains.ts';
import { agree, withOwnMinBlock } from '../domain/agree.ts';
import {
  newTally,
  type PartCounts,
  PartLines,
  type RuleTally,
  tallyVerdicts,
} from '../domain/compose-part.ts';
import {
  answeredByOf,
  behindOf,
  blocksOf,
  blockTimesOf,
  hasRetryable,
  headTimesOf,
  isUndetermined,
  makeOutcomes,
  type Outcome,
} from '../domain/compose-result.ts';
import { explainRules, explainUnread } from '../domain/explain-rules.ts';
import { judgeRules, judgeUnread, type NativeDecimals } from '../domain/judge-rules.ts';
import { makePlanner, type ReadPlan } from '../domain/plan-reads.ts';
import { failed } from '../domain/read.ts';
import { startDeadline } from './deadline.ts';
import type { ReadBudget } from './read-budget.ts';
import type { Prove } from './sign-proof.ts';
import type { ForEachInSlices } from './slice-work.ts';

type Dependencies = {
  readonly performReads: PerformReads;
  readonly readBudget: Pick<ReadBudget, 'run'>;
  readonly isConfigured: (chainId: number) => boolean;
  readonly nativeDecimals: NativeDecimals;
  /** The delegation registry of a chain. */
  readonly delegateRegistry: (chainId: number) => string;
  readonly publish: (completed: BatchPartCompleted, traceparent: string) => Promise<void>;
  readonly prove: Prove;
  readonly recordPart: (part: BatchPartRequested, tallies: readonly RuleTally[], seconds: number) => void;
  /** Epoch ms, Redis's clock. */
  readonly redisNowMs: () => number;
  readonly evaluationMsMax: number;
  readonly forEachInSlices: ForEachInSlices;
};

/**
 * Evaluates one part of a batch: one plan, one read per distinct read, one block per chain for all
 * of its entries; then each entry is judged as a single check is. Its result is text, made once and
 * carried compressed from here on.
 *
 * A part is evaluated in slices, so that it never holds up single checks for long. As a check, it
 * is parked while it waits for a chain, and left to the next owner if the process shuts down before
 * its deadline. A part that cannot be judged is rejected as `message-unreadable`; `give-up.ts`
 * publishes its failure. A member of a watch that needs too many reads is not read, and does not
 * affect the other members of its part.
 */
export function makePartHandler(deps: Dependencies): Handler<BatchPartRequested> {
  const evaluatePart = makeEvaluatePart(deps);
  return async function handlePart(part, record) {
    const count = Math.min(countPart(part), PART_READS_MAX);
    await deps.readBudget.run({ owner: part, count, record }, () => evaluatePart(part, record));
  };
}

/** The reads of all entries; equal ones of several entries, which are made once, count for each. */
function countPart({ rules, entries }: BatchPartRequested): number {
  const countReads = makeReadCounter(rules);
  let count = 0;
  for (const entry of entries) count += countReads(entry);
  return count;
}

function makeEvaluatePart(deps: Dependencies): Handler<BatchPartRequested> {
  return async function evaluatePart(part, { traceparent, signal, park }) {
    const startedAt = deps.redisNowMs();
    const { reads, plans } = await planOrReject(part, deps);
    const endAt = startedAt + deps.evaluationMsMax;
    const deadline = startDeadline(endAt, startedAt);
    const observed = await deps.performReads(reads, {
      accountId: part.accountId,
      clientId: part.clientId,
      consistency: part.consistency,
      avoid: part.avoid,
      atOneInstant: chainsAtOneInstant(part.rules),
      lane: 'batch',
      traceparent,
      onWait: () => park(deadline.finish),
      signal: deadline.signal,
    });
    deadline.finish();
    const agreed = agree(reads, observed);
    const readings = part.delivery.mode === 'watch' ? withOwnMinBlock(agreed) : agreed;
    const behind = behindOf(observed);
    const blocks = blocksOf(observed);
    const evaluatedAt = new Date(deps.redisNowMs()).toISOString();
    const lines = new PartLines(part, blocks);
    const tallies = newTally(part.rules.length);
    const outcomeFor = makeOutcomes(part);
    const proofOf = (entry: BatchEntry, outcome: Outcome, index: number): string | undefined =>
      deps.prove({ ...part, ...entry }, { ...outcome, evaluatedAt, blocks }, `${part.requestId}.${index}`);
    let isOpen = false;
    await deps.forEachInSlices(part.entries, (entry, index) => {
      const plan = plans[index];
      if (plan === undefined) throw new RangeError('an entry without a plan');
      if (plan === 'too-many-reads') {
        // Not counted: the metrics of undetermined rules are about reads that failed.
        const details = part.explain ? explainUnread(part.rules) : undefined;
        lines.add(entry, outcomeFor(judgeUnread(part.rules, failed('too-many-reads'))), { details });
        return;
      }
      const verdicts = judgeRules(part.rules, plan, readings, deps.nativeDecimals, behind);
      isOpen ||= verdicts.some(isUndetermined);
      tallyVerdicts(tallies, verdicts);
      const outcome = outcomeFor(verdicts);
      const proof = part.proof && proofOf(entry, outcome, lines.nextIndex);
      const details = part.explain
        ? explainRules(part.rules, plan, readings, deps.nativeDecimals, behind)
        : undefined;
      lines.add(entry, outcome, { details, proof });
    });
    if (signal.aborted && deps.redisNowMs() < endAt && isOpen && hasRetryable(readings))
      throw new ServiceError('overloaded', 'the process stopped before the part was evaluated');
    const completed = await completePart(part, lines.text, lines.counts, evaluatedAt);
    const times =
      part.delivery.mode === 'watch'
        ? {
            headTimes: headTimesOf(observed),
            blockTimes: blockTimesOf(blocks),
            answeredBy: answeredByOf(observed),
          }
        : {};
    await deps.publish({ ...completed, ...times }, traceparent);
    deps.recordPart(part, tallies, (deps.redisNowMs() - startedAt) / 1_000);
  };
}

/** The fields that a part's result repeats. */
type PartHeader = Pick<BatchPartRequested, Extract<keyof BatchPartRequested, keyof BatchPartCompleted>>;

/** Composes the message that completes a part. */
export async function completePart(
  part: PartHeader,
  text: string,
  counts: PartCounts,
  evaluatedAt: string,
): Promise<BatchPartCompleted> {
  const compressed = await compress(text, { level: constants.Z_BEST_SPEED });
  return BatchPartCompleted.parse({
    ...part,
    ...counts,
    evaluatedAt,
    linesGzip: compressed.toString('base64'),
  });
}

const compress = promisify<string, { level: number }, Buffer>(gzip);

type EntryPlan = ReadPlan | 'too-many-reads';
type PartPlan = Pick<ReadPlan, 'reads'> & { readonly plans: readonly EntryPlan[] };

async function planOrReject(part: BatchPartRequested, deps: Dependencies): Promise<PartPlan> {
  const isOfWatch = part.delivery.mode === 'watch';
  // A member of a watch may need as many reads as a single check.
  const readsMax = isOfWatch ? READS_MAX.bulk : ENTRY_READS_MAX;
  const planWallets = makePlanner(part.rules, { ...deps, readsMax });
  // A member is judged alone: unlike an entry of a batch, nothing bounds its reads before, and its
  // rule set may change.
  const countReads = isOfWatch ? makeReadCounter(part.rules) : () => 0;
  const plans: EntryPlan[] = [];
  let reads: ReadPlan['reads'] = new Map();
  await deps.forEachInSlices(part.entries, (entry, index) => {
    if (countReads(entry) > readsMax) {
      plans.push('too-many-reads');
      return;
    }
    const plan = planWallets(entry);
    if ('fault' in plan) throw new ServiceError('message-unreadable', `entry ${index}: ${plan.fault}`);
    plans.push(plan);
    reads = plan.reads;
  });
  const unknown = [...reads.keys()].find((chainId) => !deps.isConfigured(chainId));
  if (unknown !== undefined)
    throw new ServiceError('message-unreadable', `chain ${unknown} is not configured`);
  return { reads, plans };
}
