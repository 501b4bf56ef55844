import {
  type BatchEntry,
  type BatchPartRequested,
  ENTRY_READS_MAX,
  PART_READS_MAX,
} from '#shared/contracts/batches/batch.ts';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { makeReadBound, makeReadCounter, READS_MAX } from '#shared/contracts/rules/count-reads.ts';
import { chainsAtOneInstant } from '#shared/contracts/rules/rule.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Handler, RecordContext } from '#shared/kafka/consumer/record.ts';
import { startTimeLimit } from '../chain/rpc/time-limit.ts';
import { faultOfSignIn } from '../chain/wallets/wallet-outcome.ts';
import type { Dependencies } from '../dependencies.ts';
import { agree, withOwnMinBlock } from '../domain/agree.ts';
import { newTally, tallyVerdicts } from '../domain/compose-part.ts';
import {
  type Blocks,
  behindOf,
  blocksOf,
  failWith,
  hasRetryable,
  isUndetermined,
  makeOutcomes,
} from '../domain/compose-result.ts';
import { explainRules } from '../domain/explain-rules.ts';
import { judgeContextOf, judgeRules } from '../domain/judge-rules.ts';
import { makePlanner, type ReadPlan, unread } from '../domain/plan-reads.ts';
import { failed, type ReadLane } from '../domain/read.ts';
import { planEnd } from './deadline.ts';
import { makeEncode } from './encode.ts';

/** What is evaluated: a check of one person, or a part of a batch, which is one of several. */
export type EvaluationRequest = CheckRequested | BatchPartRequested;

/** The persons whom a request is about. */
const entriesOf = (request: EvaluationRequest): readonly BatchEntry[] =>
  'entries' in request ? request.entries : [request];

/**
 * Evaluates the checks or the parts of one lane: plan the reads, each once; read, all entries at one
 * block per chain; agree; judge each entry; publish.
 *
 * If the process shuts down before the request's own deadline, nothing is published and it is left
 * to the partition's next owner, which evaluates it with the time it needs. A request that waits for
 * a chain is parked: its slot of the window goes to another one. A request that cannot be judged is
 * rejected as `message-unreadable`; `give-up.ts` publishes its failure.
 */
export function makeEvaluate(deps: Dependencies, lane: ReadLane): Handler<EvaluationRequest> {
  const evaluate = makeSteps(deps, lane);
  const readsMax = lane === 'batch' ? PART_READS_MAX : READS_MAX[lane];
  return async function handleRequest(request, record) {
    // A check by another producer may have more reads than its lane allows; it is rejected.
    const count = Math.min(boundReads(request), readsMax);
    if (count <= SMALL_READS_MAX) return evaluate(request, record);
    const beganAt = deps.redisNowMs();
    // Before the plan, which takes the memory.
    await deps.readBudgets[lane].run({ owner: request, count, record }, async () => {
      const isLate = deps.redisNowMs() - beganAt > WAIT_MS_MAX;
      // The plan of thousands of reads takes tens of milliseconds: those of one account take turns
      // with all others' work.
      await deps.eventLoop.waitForTick(lane, request);
      await evaluate(request, record, isLate);
    });
  };
}

/** A request that has waited so long for its reads does not wait for a chain that does not answer:
 * those behind it would wait ever longer. */
const WAIT_MS_MAX = 300_000;
/** Reads of a small request: it waits for nothing before its plan. */
const SMALL_READS_MAX = 32;

/** The reads of all entries at most; equal ones of several entries, which are made once, count for
 * each. It is found before any account has its turn, so it must cost little. */
function boundReads(request: EvaluationRequest): number {
  const boundOf = makeReadBound(request.rules);
  return entriesOf(request).reduce((count, entry) => count + boundOf(entry), 0);
}

function makeSteps(deps: Dependencies, lane: ReadLane) {
  const { chains, eventLoop, redisNowMs } = deps;
  const encode = makeEncode(deps);
  return async function evaluate(
    request: EvaluationRequest,
    record: RecordContext,
    isLate = false,
  ): Promise<void> {
    const { accountId, clientId, rules } = request;
    const startedAtMs = redisNowMs();
    const { reads, plans } = await planOrReject(request, lane, deps);
    const endAtMs = planEnd(request, startedAtMs, deps.evaluationMsMax);
    const limit = startTimeLimit(endAtMs - startedAtMs);
    // Cancels the calls too that only this request waits for.
    const finish = () => {
      limit.end();
      limit.abort();
    };
    // A waiting request holds no slot of the window; at shutdown it is left to the partition's next
    // owner.
    const onWait = () => record.park(finish);
    const asking = { accountId, clientId, onWait, signal: limit.signal };
    const reading = chains.performReads(reads, {
      ...asking,
      consistency: request.consistency,
      avoid: 'avoid' in request ? request.avoid : undefined,
      atOneInstant: chainsAtOneInstant(rules),
      lane,
      isLate,
      traceparent: record.traceparent,
    });
    const wallets = walletsOf(request);
    const proving = wallets && chains.proveWallets(wallets, asking);
    const observed = await reading;
    const proven = await proving;
    finish();
    await eventLoop.waitForTick(lane, request);
    const agreed = agree(reads, observed);
    const readings = isOfWatch(request) ? withOwnMinBlock(agreed) : agreed;
    const ofRules = blocksOf(observed);
    const context = judgeContextOf(readings, behindOf(observed));
    const evaluation = {
      evaluatedAt: new Date(redisNowMs()).toISOString(),
      blocks: { ...ofOtherChains(proven?.blocks ?? {}, reads), ...ofRules },
    };
    const fault = wallets && proven && faultOfSignIn(wallets, proven.outcomes);
    const signIn = wallets?.map(({ account }) => ({ account, outcome: 'proved' as const }));
    const answer = encode(request, evaluation);
    const tallies = newTally(rules.length);
    const outcomeOf = makeOutcomes(request);
    let isOpen = false;
    await eventLoop.forEachInSlices(entriesOf(request), (entry, index) => {
      if (fault !== undefined) return answer.add(entry, failWith([fault]));
      const plan = plans[index];
      const needs = plan?.needs ?? unread(rules, TOO_MANY_READS);
      const verdicts = judgeRules(needs, context);
      // The metrics of undetermined rules are about reads that failed.
      if (plan) tallyVerdicts(tallies, verdicts);
      isOpen ||= plan !== undefined && verdicts.some(isUndetermined);
      const outcome = outcomeOf(verdicts);
      const proof =
        request.proof &&
        deps.prove({ ...request, ...entry }, { ...outcome, ...evaluation }, jtiOf(request, index));
      const details = request.explain ? explainRules(needs, verdicts, context.readingOf) : undefined;
      answer.add(entry, outcome, { details, signIn, proof });
    });
    const mayBeDecided = fault === undefined ? isOpen && hasRetryable(readings) : fault.retryable;
    if (record.signal.aborted && redisNowMs() < endAtMs && mayBeDecided)
      throw new ServiceError('overloaded', 'the process stopped before the check was evaluated');
    await answer.publish(record, { startedAtMs, observed });
    deps.metrics.recordEvaluation(request, tallies, (redisNowMs() - startedAtMs) / 1_000, fault);
  };
}

const isOfWatch = ({ delivery }: EvaluationRequest): boolean => delivery.mode === 'watch';
const walletsOf = (request: EvaluationRequest) => ('signIn' in request ? request.signIn?.wallets : undefined);
const TOO_MANY_READS = failed('too-many-reads');

const jtiOf = (request: EvaluationRequest, index: number): string =>
  'entries' in request ? `${request.requestId}.${request.firstIndex + index}` : request.requestId;

/** The blocks of the wallets on chains that no rule names: on any other chain a block is that of the
 * rules, also where they could not be read. */
const ofOtherChains = (ofWallets: Blocks, reads: ReadPlan['reads']): Blocks =>
  Object.fromEntries(Object.entries(ofWallets).filter(([chainId]) => !reads.has(Number(chainId))));

type Plans = Pick<ReadPlan, 'reads'> & {
  /** One for each entry; a member of a watch that needs too many reads has none. */
  readonly plans: readonly (ReadPlan | undefined)[];
};

async function planOrReject(
  request: EvaluationRequest,
  lane: ReadLane,
  { chains, eventLoop }: Dependencies,
): Promise<Plans> {
  const { rules } = request;
  // A member of a watch may need as many reads as a single check.
  const readsMax = lane !== 'batch' ? READS_MAX[lane] : isOfWatch(request) ? READS_MAX.bulk : ENTRY_READS_MAX;
  const planWallets = makePlanner(rules, chains, readsMax);
  // A member is judged alone: unlike any other entry, nothing bounds its reads before, and its rule
  // set may change. It does not affect the other members of its part.
  const countReadsOf = isOfWatch(request) ? makeReadCounter(rules) : () => 0;
  const plans: (ReadPlan | undefined)[] = [];
  let reads: ReadPlan['reads'] = new Map();
  await eventLoop.forEachInSlices(entriesOf(request), (entry, index) => {
    const plan = countReadsOf(entry) > readsMax ? undefined : planWallets(entry);
    if (plan !== undefined && 'fault' in plan)
      throw new ServiceError('message-unreadable', `entry ${index}: ${plan.fault}`);
    plans.push(plan);
    if (plan !== undefined) reads = plan.reads;
  });
  const ofWallets = walletsOf(request)?.map(({ chainId }) => chainId) ?? [];
  const unknown = [...reads.keys(), ...ofWallets].find((chainId) => !chains.isConfigured(chainId));
  if (unknown !== undefined)
    throw new ServiceError('message-unreadable', `chain ${unknown} is not configured`);
  return { reads, plans };
}
