import type { CheckCompleted } from '#shared/contracts/check-completed.ts';
import type { CheckRequested, Lane } from '#shared/contracts/check-requested.ts';
import { READS_MAX } from '#shared/contracts/count-reads.ts';
import { type BlockReport, describeUndetermined } from '#shared/contracts/result.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import type { ReadBalances } from './chain/connect-chains.ts';
import { agree } from './domain/agree.ts';
import { type Blocks, composeResult } from './domain/compose-result.ts';
import { judgeRules, type NativeDecimals, type Verdict } from './domain/judge-rules.ts';
import { planEnd } from './domain/plan-end.ts';
import { planReads, type ReadPlan } from './domain/plan-reads.ts';
import type { ChainObservations } from './domain/read.ts';

type Dependencies = {
  readonly readBalances: ReadBalances;
  readonly isConfigured: (chainId: number) => boolean;
  readonly nativeDecimals: NativeDecimals;
  readonly publish: (completed: CheckCompleted, traceparent: string) => Promise<void>;
  readonly observe: (check: CheckRequested, verdicts: readonly Verdict[], seconds: number) => void;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
  readonly evaluationMsMax: number;
  /** Waited for before a check that was read is ended; see `turn-gate.ts`. */
  readonly pass: (lane: Lane) => Promise<void> | undefined;
};

/**
 * The evaluator's work on one check of a lane: plan the reads, read, agree, judge, publish.
 *
 * A check that the stop of the process cuts short is left to the next owner, who has the time that it needs: only
 * what it has until its own end is a result. A check that waits for a chain is parked: others run in its place.
 * A check that cannot be judged is refused as `message-unreadable` and never judged; `give-up.ts` ends it.
 */
export function makeRequestHandler(deps: Dependencies, lane: Lane): Handler<CheckRequested> {
  return async function handleRequest(check, { traceparent, signal, park }) {
    const startedAt = deps.now();
    const plan = planOrRefuse(check, READS_MAX[lane], deps);
    const endAt = endAtOf(check, startedAt, deps);
    const end = startEnd(endAt, startedAt);
    const observed = await deps.readBalances(plan.reads, {
      ...check,
      lane,
      traceparent,
      // One that waits takes no place from others, and is left to the next owner when the process stops.
      onWait: () => park(end.finish),
      signal: end.signal,
    });
    end.finish();
    await deps.pass(lane);
    const readings = agree(observed.values());
    const verdicts = judgeRules(check.rules, plan, readings, deps.nativeDecimals);
    if (signal.aborted && deps.now() < endAt && verdicts.some(isOpen))
      throw new ServiceError('overloaded', 'the process stops before the check could end');
    const evaluatedAt = new Date(deps.now()).toISOString();
    await deps.publish(composeResult(check, verdicts, blocksOf(observed), evaluatedAt), traceparent);
    deps.observe(check, verdicts, (deps.now() - startedAt) / 1_000);
  };
}

/** Whether asking again may decide it. */
const isOpen = (verdict: Verdict): boolean =>
  verdict.outcome === 'undetermined' && describeUndetermined(verdict).retryable;

function planOrRefuse(check: CheckRequested, readsMax: number, deps: Dependencies): ReadPlan {
  const plan = planReads(check.account, check.rules, readsMax);
  if ('fault' in plan) throw new ServiceError('message-unreadable', plan.fault);
  const unknown = [...plan.reads.keys()].find((chainId) => !deps.isConfigured(chainId));
  if (unknown !== undefined)
    throw new ServiceError('message-unreadable', `chain ${unknown} is not configured`);
  return plan;
}

function endAtOf(check: CheckRequested, startedAt: number, { evaluationMsMax }: Dependencies): number {
  const acceptedAtMs = Date.parse(check.acceptedAt);
  const deadline = check.deadlineAt === undefined ? {} : { deadlineAtMs: Date.parse(check.deadlineAt) };
  return planEnd({ acceptedAtMs, ...deadline }, startedAt, evaluationMsMax);
}

/** One for all: making a reason with its stack for every check costs as much as all the rest of the signal. */
const ENDED = new Error('the check has ended');

/** A signal that says when to end with what there is; it is aborted already where that time has passed. */
function startEnd(endAt: number, startedAt: number) {
  const controller = new AbortController();
  const abort = () => controller.abort(ENDED);
  const timer = setTimeout(abort, Math.max(0, endAt - startedAt));
  if (endAt <= startedAt) abort();
  return {
    signal: controller.signal,
    /** Also ends what is still on its way for this check alone. */
    finish: () => {
      clearTimeout(timer);
      abort();
    },
  };
}

function blocksOf(observed: ReadonlyMap<number, ChainObservations>): Blocks {
  const blocks: Record<string, BlockReport> = {};
  for (const [chainId, { block }] of observed) if (block !== undefined) blocks[String(chainId)] = block;
  return blocks;
}
