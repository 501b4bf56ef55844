import type { CheckRequested, Lane } from '#shared/contracts/checks/check-requested.ts';
import type { SignInFault } from '#shared/contracts/checks/result.ts';
import { countReads, READS_MAX } from '#shared/contracts/rules/count-reads.ts';
import { chainsAtOneInstant } from '#shared/contracts/rules/rule.ts';
import { ServiceError } from '#shared/errors.ts';
import { type Handler, positionOf, type RecordContext } from '#shared/kafka/consumer/record.ts';
import type { PerformReads, ProveWallets } from '../chain/connect-chains.ts';
import { faultOfSignIn } from '../chain/wallets/wallet-outcome.ts';
import { agree } from '../domain/agree.ts';
import {
  type Blocks,
  behindOf,
  blocksOf,
  composeResult,
  hasRetryable,
  isUndetermined,
} from '../domain/compose-result.ts';
import { explainRules } from '../domain/explain-rules.ts';
import { judgeRules, type NativeDecimals, type Verdict } from '../domain/judge-rules.ts';
import { planReads, type ReadPlan } from '../domain/plan-reads.ts';
import { planEnd, startDeadline } from './deadline.ts';
import type { PublishResult } from './publish-result.ts';
import type { ReadBudget } from './read-budget.ts';
import type { Prove } from './sign-proof.ts';

type Dependencies = {
  readonly performReads: PerformReads;
  readonly proveWallets: ProveWallets;
  readonly readBudget: Pick<ReadBudget, 'run'>;
  readonly isConfigured: (chainId: number) => boolean;
  readonly nativeDecimals: NativeDecimals;
  /** The delegation registry of a chain. */
  readonly delegateRegistry: (chainId: number) => string;
  readonly prove: Prove;
  readonly publishResult: PublishResult;
  readonly recordMetrics: (
    check: CheckRequested,
    verdicts: readonly Verdict[],
    seconds: number,
    fault?: SignInFault,
  ) => void;
  /** Epoch ms, Redis's clock. */
  readonly redisNowMs: () => number;
  readonly evaluationMsMax: number;
  /** Awaited before a check whose reads are complete is judged; see `tick-limiter.ts`. */
  readonly waitForTick: (lane: Lane) => Promise<void> | undefined;
};

/**
 * Evaluates one check of a lane: plan the reads, read, agree, judge, publish.
 *
 * If the process shuts down before the check's own deadline, the check is not published but left to
 * the partition's next owner, which evaluates it with the time it needs. A check that waits for a
 * chain is parked: its slot of the window goes to another check. A check that cannot be judged is
 * rejected as `message-unreadable`; `give-up.ts` publishes its failure.
 */
export function makeRequestHandler(deps: Dependencies, lane: Lane): Handler<CheckRequested> {
  const evaluate = makeEvaluate(deps, lane);
  return async function handleRequest(check, record) {
    if (isSmall(check)) return evaluate(check, record);
    // Before the plan, which takes the memory. A check by another producer may have more reads; it
    // is rejected.
    const count = Math.min(countReads(check, check.rules), READS_MAX[lane]);
    const beganAt = deps.redisNowMs();
    await deps.readBudget.run({ owner: check, count, record }, () =>
      evaluate(check, record, deps.redisNowMs() - beganAt > WAIT_MS_MAX),
    );
  };
}

/** A check that has waited so long for its reads does not wait for a chain that does not answer:
 * the checks behind it would wait ever longer. */
const WAIT_MS_MAX = 300_000;
/** Rules of a small check, which need as many reads: their plans cost less than to count their
 * reads. */
const SMALL_RULES_MAX = 32;

/** Whether each rule needs one read: one wallet, and no rule with a list of token ids or other
 * rules inside. */
const isSmall = ({ accounts, vaults, rules }: CheckRequested): boolean =>
  accounts === undefined &&
  vaults === undefined &&
  rules.length <= SMALL_RULES_MAX &&
  rules.every((rule) => !('rules' in rule) && !('tokenId' in rule && /\D/.test(rule.tokenId ?? '')));

function makeEvaluate(deps: Dependencies, lane: Lane) {
  return async function evaluate(
    check: CheckRequested,
    record: RecordContext,
    isLate = false,
  ): Promise<void> {
    const { traceparent, signal, park } = record;
    const startedAt = deps.redisNowMs();
    const plan = planOrReject(check, READS_MAX[lane], deps);
    const endAt = endAtOf(check, startedAt, deps);
    const deadline = startDeadline(endAt, startedAt);
    // A waiting check holds no slot of the window; at shutdown it is left to the partition's next
    // owner.
    const onWait = () => park(deadline.finish);
    const reading = deps.performReads(plan.reads, {
      ...check,
      atOneInstant: chainsAtOneInstant(check.rules),
      lane,
      isLate,
      traceparent,
      onWait,
      signal: deadline.signal,
    });
    const wallets = check.signIn?.wallets;
    const proving = wallets && deps.proveWallets(wallets, { ...check, onWait, signal: deadline.signal });
    const observed = await reading;
    const proven = await proving;
    deadline.finish();
    await deps.waitForTick(lane);
    const readings = agree(plan.reads, observed);
    const [behind, blocks] = [behindOf(observed), blocksOf(observed)];
    const verdicts = judgeRules(check.rules, plan, readings, deps.nativeDecimals, behind);
    const fault = wallets && proven && faultOfSignIn(wallets, proven.outcomes);
    const isOpen =
      fault === undefined ? verdicts.some(isUndetermined) && hasRetryable(readings) : fault.retryable;
    if (signal.aborted && deps.redisNowMs() < endAt && isOpen)
      throw new ServiceError('overloaded', 'the process stopped before the check was evaluated');
    const evaluatedAt = new Date(deps.redisNowMs()).toISOString();
    const details = check.explain
      ? explainRules(check.rules, plan, readings, deps.nativeDecimals, behind)
      : undefined;
    const completed = composeResult(
      check,
      {
        verdicts,
        blocks: { ...ofOtherChains(proven?.blocks ?? {}, plan), ...blocks },
        evaluatedAt,
        details,
        fault,
      },
      deps.prove,
    );
    const origin = { startedAt: new Date(startedAt).toISOString(), request: positionOf(record) };
    await deps.publishResult({ ...completed, ...origin }, check.rules.length, record);
    deps.recordMetrics(check, verdicts, (deps.redisNowMs() - startedAt) / 1_000, fault);
  };
}

/** The blocks of the wallets on chains that no rule names: on any other chain a block is that of the
 * rules, also where they could not be read. */
const ofOtherChains = (ofWallets: Blocks, { reads }: ReadPlan): Blocks =>
  Object.fromEntries(Object.entries(ofWallets).filter(([chainId]) => !reads.has(Number(chainId))));

function planOrReject(check: CheckRequested, readsMax: number, deps: Dependencies): ReadPlan {
  const plan = planReads(check, check.rules, { readsMax, delegateRegistry: deps.delegateRegistry });
  if ('fault' in plan) throw new ServiceError('message-unreadable', plan.fault);
  const ofWallets = check.signIn?.wallets.map(({ chainId }) => chainId) ?? [];
  const unknown = [...plan.reads.keys(), ...ofWallets].find((chainId) => !deps.isConfigured(chainId));
  if (unknown !== undefined)
    throw new ServiceError('message-unreadable', `chain ${unknown} is not configured`);
  return plan;
}

function endAtOf(check: CheckRequested, startedAt: number, { evaluationMsMax }: Dependencies): number {
  const acceptedAtMs = Date.parse(check.acceptedAt);
  const deadline = check.deadlineAt === undefined ? {} : { deadlineAtMs: Date.parse(check.deadlineAt) };
  return planEnd({ acceptedAtMs, ...deadline }, startedAt, evaluationMsMax);
}
