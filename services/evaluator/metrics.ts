import { BREAKER_STATES } from '#shared/breaker/breaker.ts';
import type { BatchPartRequested } from '#shared/contracts/batches/batch.ts';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { type SignInFault, UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { type Rule, simpleRulesOf } from '#shared/contracts/rules/rule.ts';
import { makeInstruments, type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';
import type { ChainGauges, ChainObserver } from './chain/chain-observer.ts';
import type { EndpointGauges } from './chain/endpoints/endpoint.ts';
import type { FollowerObserver } from './chain/logs/follow-chain.ts';
import type { RuleTally } from './domain/compose-part.ts';
import { VerdictMemory } from './lanes/verdict-memory.ts';

/** Balances that one call carried, up to the hard bound of a batch. */
const READS_BUCKETS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

/** Results of a call whose series exist from the start for each endpoint: success and the common
 * failures. */
const USUAL_RESULTS = [
  'ok',
  'timeout',
  'unreachable',
  'rate-limited',
  'http-status',
  'malformed',
  'rpc-error',
];

/** All metrics of an evaluator process. Labels are bounded: an endpoint is named by its position in
 * the chain file. */
export function makeMetrics(registry: Registry, chainIds: readonly number[]) {
  const memory = new VerdictMemory();
  const { counter, histogram } = makeInstruments(registry);
  const chain_id = chainIds.map(String);
  const known = new Set(chainIds);
  const verdicts = counter('rolecall_verdicts_total', 'Rules judged, by outcome.', {
    chain_id,
    outcome: ['granted', 'denied', 'undetermined'],
  });
  const undetermined = counter('rolecall_undetermined_total', 'Rules that could not be read, by code.', {
    chain_id,
    code: UndeterminedCode.options,
  });
  const repeats = counter(
    'rolecall_verdicts_repeated_total',
    'Verdicts on a rule that this process had already judged for the same account.',
    { chain_id },
  );
  const flips = counter(
    'rolecall_verdict_flips_total',
    'Repeated verdicts that differ from the previous verdict, by direction.',
    { chain_id, direction: ['granted-to-denied', 'denied-to-granted'] },
  );
  const evaluationSeconds = histogram(
    'rolecall_evaluation_seconds',
    'Time from the start of an evaluation, of a check or of a part of a batch, to its published result.',
    SECONDS_BUCKETS,
  );
  const countRepeats = (check: CheckRequested, tallies: readonly RuleTally[]): void => {
    const note = memory.ofCheck(check);
    for (const [index, rule] of check.rules.entries()) {
      const tally = tallies[index];
      const repeat = tally?.undetermined.size === 0 ? note(rule, tally.granted > 0) : undefined;
      if (repeat === undefined) continue;
      const chain_id = chainOf(rule);
      repeats.inc({ chain_id });
      if (repeat !== 'same') flips.inc({ chain_id, direction: repeat });
    }
  };
  return {
    /** @param fault of a wallet that is not proved: then the check has no verdicts */
    recordEvaluation(
      request: CheckRequested | BatchPartRequested,
      tallies: readonly RuleTally[],
      seconds: number,
      fault?: SignInFault,
    ): void {
      evaluationSeconds.observe(seconds);
      if (fault) {
        undetermined.inc({ chain_id: String(fault.chainId), code: fault.code });
        return;
      }
      for (const [index, { granted, denied, undetermined: codes }] of tallies.entries()) {
        const chain_id = chainOf(request.rules[index]);
        if (granted > 0) verdicts.inc({ chain_id, outcome: 'granted' }, granted);
        if (denied > 0) verdicts.inc({ chain_id, outcome: 'denied' }, denied);
        for (const [code, count] of codes) {
          verdicts.inc({ chain_id, outcome: 'undetermined' }, count);
          undetermined.inc({ chain_id, code }, count);
        }
      }
      if (!('entries' in request)) countRepeats(request, tallies);
    },
    /** Checks, or entries of a part, that could not be evaluated: all of their rules are
     * undetermined. */
    recordFailure(rules: readonly { readonly chainId: number }[], count: number): void {
      for (const { chainId } of rules) {
        // The record may name any number: only a configured chain becomes a label.
        const chain_id = known.has(chainId) ? String(chainId) : 'unknown';
        verdicts.inc({ chain_id, outcome: 'undetermined' }, count);
        undetermined.inc({ chain_id, code: 'internal' }, count);
      }
    },
    /** The observer of a chain's reads. */
    observerOf: makeChainMetrics(registry, chain_id),
    following: makeFollowingMetrics(registry, chainIds),
  };
}

export type Metrics = ReturnType<typeof makeMetrics>;

/** The metrics of reading chains: the events of each chain are counted by its observer. */
function makeChainMetrics(registry: Registry, chain_id: readonly string[]) {
  const { counter, gauge, histogram } = makeInstruments(registry);
  const calls = counter('rolecall_rpc_calls_total', 'Calls to RPC endpoints, by result.', [
    'chain_id',
    'endpoint',
    'result',
  ]);
  const callSeconds = histogram(
    'rolecall_rpc_call_seconds',
    'Duration of calls to RPC endpoints.',
    SECONDS_BUCKETS,
    ['chain_id', 'endpoint'],
  );
  const readsPerCall = histogram(
    'rolecall_reads_per_call',
    'Balances that one batch carried.',
    READS_BUCKETS,
    { chain_id },
  );
  const readsSaved = counter(
    'rolecall_reads_saved_total',
    'Reads that needed no call of their own, by reason.',
    { chain_id, reason: ['dedupe', 'cache', 'decimals', 'batch'] },
  );
  const readSeconds = histogram(
    'rolecall_chain_read_seconds',
    'Time to complete all reads of one check on one chain.',
    SECONDS_BUCKETS,
    { chain_id },
  );
  const hedges = counter(
    'rolecall_rpc_hedges_total',
    'Hedged calls: a second endpoint was called because the first was slow.',
    { chain_id },
  );
  const blockAge = gauge('rolecall_block_age_seconds', 'Age of the newest block when it was last fetched.', [
    'chain_id',
  ]);
  const watched = watchChains(registry);
  return (chainId: number): Omit<ChainObserver, 'onHealth'> => {
    const chain = { chain_id: String(chainId) };
    // Found once: one is counted for each read.
    const saved = {
      dedupe: readsSaved.labels({ ...chain, reason: 'dedupe' }),
      cache: readsSaved.labels({ ...chain, reason: 'cache' }),
      decimals: readsSaved.labels({ ...chain, reason: 'decimals' }),
    };
    return {
      onCall(endpoint, result, durationMs) {
        calls.inc({ ...chain, endpoint, result });
        callSeconds.observe({ ...chain, endpoint }, durationMs / 1_000);
      },
      onBatch(readCount) {
        readsPerCall.observe(chain, readCount);
        if (readCount > 1) readsSaved.inc({ ...chain, reason: 'batch' }, readCount - 1);
      },
      onSaved: (reason) => saved[reason].inc(),
      onRead: (durationMs) => readSeconds.observe(chain, durationMs / 1_000),
      onHedge: () => hedges.inc(chain),
      onHead: (blockAgeMs) => blockAge.set(chain, blockAgeMs / 1_000),
      watch(gauges) {
        for (const { endpoint } of gauges.endpoints()) {
          for (const result of USUAL_RESULTS) calls.inc({ ...chain, endpoint, result }, 0);
          callSeconds.zero({ ...chain, endpoint });
        }
        // Not known before the first block was fetched.
        blockAge.set(chain, NaN);
        watched.set(chainId, gauges);
      },
    };
  };
}

/** A composed rule is counted under the chain of its first simple rule. */
const chainOf = (rule: Rule | undefined): string =>
  String((rule && simpleRulesOf(rule)[0]?.chainId) ?? 'unknown');

/** Makes the gauges of all chains that are put into the map, read when the metrics are collected. */
function watchChains(registry: Registry): Map<number, ChainGauges> {
  const chains = new Map<number, ChainGauges>();
  const { watched } = makeInstruments(registry);
  const gauge = <const Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    read: (chain: ChainGauges) => readonly (readonly [labels: Record<Label, string>, figure: number])[],
  ): void =>
    watched<Label | 'chain_id'>(name, help, [...labels, 'chain_id'])(() =>
      [...chains].flatMap(([chainId, chain]) =>
        read(chain).map(([own, figure]) => [{ ...own, chain_id: String(chainId) }, figure] as const),
      ),
    );
  const ofEndpoints = (name: string, help: string, read: (endpoint: EndpointGauges) => number): void =>
    gauge(name, help, ['endpoint'], (chain) =>
      chain.endpoints().map((each) => [{ endpoint: each.endpoint }, read(each)]),
    );
  gauge(
    'rolecall_rpc_breaker_state',
    '1 for the current state of the circuit breaker.',
    ['endpoint', 'state'],
    (chain) =>
      chain
        .endpoints()
        .flatMap(({ endpoint, breaker }) =>
          BREAKER_STATES.map((state) => [{ endpoint, state }, breaker === state ? 1 : 0] as const),
        ),
  );
  gauge(
    'rolecall_rpc_endpoint_state',
    '1 for the current state of an endpoint (starting, up, down, wrong-chain or rate-limited), its reason, and the method by which it is read.',
    ['endpoint', 'state', 'reason', 'method'],
    (chain) =>
      chain.endpoints().map(({ endpoint, health: { state, reason = 'none', method = 'unknown' } }) => {
        return [{ endpoint, state, reason, method }, 1];
      }),
  );
  ofEndpoints(
    'rolecall_rpc_head_number',
    'Newest block number that an endpoint has returned.',
    ({ headNumber }) => headNumber,
  );
  ofEndpoints(
    'rolecall_rpc_in_flight',
    'Calls to an endpoint in flight.',
    ({ inFlightCount }) => inFlightCount,
  );
  ofEndpoints(
    'rolecall_rpc_reads_per_call_max',
    'Learned maximum of reads in one call.',
    ({ readsPerCallMax }) => readsPerCallMax,
  );
  gauge(
    'rolecall_quarantined_reads',
    'Reads that are isolated in calls of their own because they used up their gas.',
    [],
    (chain) => [[{}, chain.quarantinedCount()]],
  );
  gauge('rolecall_waiting_reads', 'Reads that wait to be sent.', [], (chain) => [
    [{}, chain.waitingReadCount()],
  ]);
  return chains;
}

/** Results of a read whose series exist from the start. */
const USUAL_LOG_RESULTS = ['ok', 'timeout', 'unreachable', 'rate-limited', 'rpc-error', 'too-many-logs'];

export type FollowingMetrics = ReturnType<typeof makeFollowingMetrics>;

/** The metrics of following transfers. */
export function makeFollowingMetrics(registry: Registry, chainIds: readonly number[] = []) {
  const { counter, gauge } = makeInstruments(registry);
  const chain_id = chainIds.map(String);
  const reads = counter(
    'rolecall_log_reads_total',
    'Reads of the transfer logs of watched contracts, by result.',
    { chain_id, result: USUAL_LOG_RESULTS },
  );
  const logs = counter(
    'rolecall_transfer_logs_total',
    'Transfer logs of watched contracts that were read, whether or not they name a member.',
    { chain_id },
  );
  const published = counter(
    'rolecall_transfers_published_total',
    'Transfers that name a wallet of a watched member, and gaps.',
    { chain_id },
  );
  const reorgs = counter('rolecall_reorgs_total', 'Reorgs that replaced blocks whose logs had been read.', {
    chain_id,
  });
  const gaps = counter(
    'rolecall_log_gaps_total',
    'Contracts whose logs were not read for some blocks, so that all members are due.',
    { chain_id },
  );
  const lag = gauge(
    'rolecall_log_block_lag',
    'Blocks between the last block whose logs were read and the head, before the last read.',
    { chain_id },
  );
  const state = gauge(
    'rolecall_log_reader_state',
    '1 where this process reads the transfer logs of the chain, otherwise 0.',
    { chain_id },
  );
  return {
    observerOf(chainId: number): Omit<FollowerObserver, 'onError'> {
      const chain_id = String(chainId);
      return {
        onRead(result, logCount) {
          reads.inc({ chain_id, result });
          logs.inc({ chain_id }, logCount);
        },
        onReorg: () => reorgs.inc({ chain_id }),
        onGap: (contractCount) => gaps.inc({ chain_id }, contractCount),
        onBehind: (blockCount) => lag.set({ chain_id }, blockCount),
      };
    },
    onPublished: (chainId: number, count: number) => published.inc({ chain_id: String(chainId) }, count),
    onLease: (chainId: number, isHeld: boolean) => state.set({ chain_id: String(chainId) }, isHeld ? 1 : 0),
  };
}
