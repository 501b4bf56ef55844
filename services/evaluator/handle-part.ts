import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { BatchPartCompleted, type BatchPartRequested } from '#shared/contracts/batch.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import type { ReadBalances } from './chain/connect-chains.ts';
import { startDeadline } from './deadline.ts';
import { agree } from './domain/agree.ts';
import { type PartCounts, PartLines } from './domain/compose-part.ts';
import { blocksOf, isRetryable, outcomeOf } from './domain/compose-result.ts';
import { judgeRules, type NativeDecimals } from './domain/judge-rules.ts';
import { PartPlan } from './domain/plan-part.ts';
import { newTally, type RuleTally, tallyVerdicts } from './domain/tally-verdicts.ts';
import type { Prove } from './sign-proof.ts';
import type { ForEachInSlices } from './slice-work.ts';

type Dependencies = {
  readonly readBalances: ReadBalances;
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
 * Evaluates one part of a batch: one plan, one read per distinct read, one block per chain for all of its entries; then
 * each entry is judged as a single check is. Its result is text, made once and carried compressed from here on.
 *
 * A part is evaluated in slices, so that it never holds up single checks for long. As a check, it is parked while it waits
 * for a chain, and left to the next owner if the process shuts down before its deadline. A part that cannot be judged is
 * rejected as `message-unreadable`; `give-up-part.ts` publishes its failure.
 */
export function makePartHandler(deps: Dependencies): Handler<BatchPartRequested> {
  return async function handlePart(part, { traceparent, signal, park }) {
    const startedAt = deps.redisNowMs();
    const plan = await planOrReject(part, deps);
    const endAt = startedAt + deps.evaluationMsMax;
    const deadline = startDeadline(endAt, startedAt);
    const observed = await deps.readBalances(plan.reads, {
      clientId: part.clientId,
      consistency: part.consistency,
      lane: 'batch',
      traceparent,
      onWait: () => park(deadline.finish),
      signal: deadline.signal,
    });
    deadline.finish();
    const readings = agree(observed.values());
    const blocks = blocksOf(observed);
    const evaluatedAt = new Date(deps.redisNowMs()).toISOString();
    const lines = new PartLines(part.rules, part.firstIndex, blocks);
    const tallies = newTally(part.rules.length);
    let isOpen = false;
    await deps.forEachInSlices(part.entries, (entry, index) => {
      const entryPlan = plan.plans[index];
      if (entryPlan === undefined) throw new RangeError('an entry without a plan');
      const verdicts = judgeRules(part.rules, entryPlan, readings, deps.nativeDecimals);
      isOpen ||= verdicts.some(isRetryable);
      tallyVerdicts(tallies, verdicts);
      const outcome = outcomeOf(part, verdicts);
      const proven = { ...outcome, evaluatedAt, blocks };
      const jti = `${part.requestId}.${lines.nextIndex}`;
      lines.add(entry, outcome, part.proof && deps.prove({ ...part, ...entry }, proven, jti));
    });
    if (signal.aborted && deps.redisNowMs() < endAt && isOpen)
      throw new ServiceError('overloaded', 'the process stopped before the part was evaluated');
    await deps.publish(await completePart(part, lines.text, lines.counts, evaluatedAt), traceparent);
    deps.recordPart(part, tallies, (deps.redisNowMs() - startedAt) / 1_000);
  };
}

/** The fields that a part's result repeats. */
export type PartHeader = Pick<
  BatchPartRequested,
  Extract<keyof BatchPartRequested, keyof BatchPartCompleted>
>;

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

async function planOrReject(part: BatchPartRequested, deps: Dependencies): Promise<PartPlan> {
  const plan = new PartPlan();
  await deps.forEachInSlices(part.entries, (entry, index) => {
    const fault = plan.add(entry, part, deps.delegateRegistry);
    if (fault !== undefined) throw new ServiceError('message-unreadable', `entry ${index}: ${fault.fault}`);
  });
  const unknown = [...plan.reads.keys()].find((chainId) => !deps.isConfigured(chainId));
  if (unknown !== undefined)
    throw new ServiceError('message-unreadable', `chain ${unknown} is not configured`);
  return plan;
}
