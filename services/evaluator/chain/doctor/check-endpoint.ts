import type { ChainSettings } from '#shared/contracts/chain-file.ts';
import type { EndpointReport } from '#shared/contracts/chain-report.ts';
import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import type { BlockTag } from '#shared/contracts/rules/rule.ts';
import type { Read } from '../../domain/read.ts';
import { type Block, fetchBlock, fetchOwnBlock } from '../blocks/block.ts';
import type { Capabilities, Endpoint } from '../endpoints/endpoint.ts';
import { DEPTH, probeEndpoint, readChainId } from '../endpoints/probe-endpoint.ts';
import { logsRequest } from '../logs/transfer-log.ts';
import { readOwn } from '../reader/read-from-endpoint.ts';
import { type IdentifyState, KeptHashes } from '../reader/state-identity.ts';
import type { ConnectedRpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { describeFailure } from './describe-failure.ts';

const TAGS: readonly BlockTag[] = ['latest', 'safe', 'finalized'];
/** Blocks of one `eth_getLogs` and reads of one call that are tried, most first. */
const LOG_RANGES = [5_000, 1_000, 100, 10, 1] as const;
const BATCH_SIZES = [1_000, 500, 100, 20, 1] as const;
/** With fewer blocks, following the transfers of a chain takes many calls. */
const LOG_RANGE_MIN = 100;
/** With fewer reads, checks of many rules take many calls. */
const BATCH_MIN = 100;

export type CheckedEndpoint = {
  readonly chain: Pick<ChainSettings, 'chainId' | 'maxHeadAgeMs'>;
  readonly settings: ChainSettings['endpoints'][number];
  readonly index: number;
  /** Its JSON pointer in the chain file: sentences begin with it. */
  readonly place: string;
};

type Options = {
  /** With a state of its own: a failure here says nothing about checks. */
  readonly endpoint: Endpoint;
  readonly arrayMax: ConnectedRpc['arrayMax'];
  readonly signal: AbortSignal;
  /** Epoch ms. */
  readonly now: () => number;
};

/** A report of an endpoint that nothing is known of. */
export const emptyReport = ({ chain, settings, index }: CheckedEndpoint): EndpointReport => ({
  chainId: chain.chainId,
  endpoint: index,
  ...(settings.name !== undefined && { name: settings.name }),
  reachable: false,
  chainIdMatches: null,
  headAgeMs: null,
  tags: [],
  archive: null,
  logRange: null,
  batchLimit: null,
  method: null,
  proved: null,
  state: null,
  problems: [],
});

/**
 * Finds out what an endpoint can do, by calls that a check, a watch or a client could cause. Never
 * throws: a failure is a problem of the report.
 */
export async function checkEndpoint(checked: CheckedEndpoint, options: Options): Promise<EndpointReport> {
  const report = await examine(checked, options);
  if (!options.signal.aborted) return report;
  // A call that was cut short is no fault of the endpoint.
  const late = `${checked.place}: it could not be checked in time: it is slow, or its requestsPerSecond is low.`;
  return { ...emptyReport(checked), reachable: report.reachable, problems: [late] };
}

async function examine(
  checked: CheckedEndpoint,
  { endpoint, arrayMax, signal, now }: Options,
): Promise<EndpointReport> {
  const { chain, settings, place } = checked;
  const { maxCallsPerBatch } = settings;
  const report = { ...emptyReport(checked), problems: [] as string[] };
  const tell = (sentence: string, member = '') => report.problems.push(`${place}${member}: ${sentence}.`);
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      tell(`${what}: ${describeFailure(toRpcFailure(error))}`);
      return undefined;
    }
  };

  const served = await attempt('the chain id cannot be read', () => readChainId(endpoint, signal));
  if (served === undefined) return report;
  report.reachable = true;
  report.chainIdMatches = served === chain.chainId;
  if (!report.chainIdMatches) {
    tell(`it serves chain ${served}, not ${chain.chainId}: correct its url`, '/url');
    return report;
  }
  const head = await attempt('the newest block cannot be read', () => fetchBlock(endpoint, 'latest', signal));
  if (!head) return report;
  report.headAgeMs = Math.max(0, Math.round(now() - head.timestamp * 1_000));
  if (chain.maxHeadAgeMs !== undefined && report.headAgeMs > chain.maxHeadAgeMs)
    tell(
      `its newest block is ${Math.round(report.headAgeMs / 1_000)} s old, and maxHeadAgeMs allows ${chain.maxHeadAgeMs} ms: it is not synchronized, or maxHeadAgeMs is too small`,
    );
  report.tags = await knownTags(endpoint, signal);
  for (const tag of TAGS.filter((one) => !report.tags.includes(one)))
    tell(`it does not know the tag ${tag}: checks and watches that ask for it need another endpoint`);
  report.archive = await succeeds(() => readOldState(endpoint, head, signal));
  report.logRange = await mostOf(rangesWithin(head), (blocks) => readLogs(endpoint, head, blocks, signal));
  if (report.logRange === 0)
    tell('it serves no logs: watches of this chain rely on their sweeps unless another endpoint does');
  else if (report.logRange < Math.min(LOG_RANGE_MIN, head.number + 1))
    tell(`it serves the logs of ${report.logRange} blocks at a time: following transfers takes many calls`);

  const identify = new KeptHashes().of(endpoint.name);
  const capabilities = await attempt('no balance can be read', () =>
    probeEndpoint(endpoint, chain.chainId, identify, signal),
  );
  if (!capabilities) return report;
  report.method = capabilities.method;
  report.proved = capabilities.method !== 'plain';
  if (!report.proved)
    tell(
      'it takes no state override and has no Multicall3: every read is a call of its own, and blocks are not proved',
    );
  const read = (count: number) => readBalances(endpoint, { head, count, capabilities, identify }, signal);
  report.state = (await attempt('the state of a block cannot be identified', () => read(1))) ?? null;
  const sizes = BATCH_SIZES.filter((size) => size <= (maxCallsPerBatch ?? size));
  const allowed = maxCallsPerBatch === undefined ? sizes : [maxCallsPerBatch, ...sizes];
  const answered = await mostOf(allowed, read);
  // Plain reads go out as arrays, which the transport shortens until the endpoint takes them.
  report.batchLimit = report.proved ? answered : Math.min(answered, arrayMax());
  if (report.batchLimit === 0) return report;
  if (maxCallsPerBatch !== undefined && report.batchLimit < maxCallsPerBatch)
    tell(`it answers ${report.batchLimit} reads in a call: set it to that`, '/maxCallsPerBatch');
  else if (maxCallsPerBatch === undefined && report.batchLimit < BATCH_MIN)
    tell(`it answers ${report.batchLimit} reads in a call: set maxCallsPerBatch to that`);
  return report;
}

async function knownTags(endpoint: Endpoint, signal: AbortSignal): Promise<BlockTag[]> {
  const known = await Promise.all(TAGS.map((tag) => succeeds(() => fetchBlock(endpoint, tag, signal))));
  return TAGS.filter((_, i) => known[i]);
}

/** Reads a balance in the middle of the chain's history: pruned nodes have none, and some chains
 * have lost their first blocks. */
const readOldState = (endpoint: Endpoint, { number }: Block, signal: AbortSignal): Promise<unknown> => {
  const params = `["${ZERO_ADDRESS}","0x${Math.floor(number / 2).toString(16)}"]`;
  return ask(endpoint, { method: 'eth_getBalance', params }, signal);
};

/** The ranges; of a young chain all its blocks instead of more. */
const rangesWithin = ({ number }: Block): readonly number[] => [
  ...new Set(LOG_RANGES.map((blocks) => Math.min(blocks, number + 1))),
];

/** Reads the transfers of no contract. */
const readLogs = (endpoint: Endpoint, { number }: Block, blocks: number, signal: AbortSignal) => {
  const range = { fromBlock: number - blocks + 1, toBlock: number, contracts: [ZERO_ADDRESS] };
  return ask(endpoint, logsRequest(range), signal);
};

/** A call whose failure says nothing about the endpoint as a whole. */
const ask = (endpoint: Endpoint, request: RpcRequest, signal: AbortSignal): Promise<unknown> =>
  endpoint.useForClient(signal, (rpc) => rpc.call(request, signal), 'call');

type Balances = {
  readonly head: Block;
  readonly count: number;
  readonly capabilities: Capabilities;
  readonly identify: IdentifyState;
};

/** Reads balances of so many accounts as checks do.
 * @returns whether the state is identified as that of the block */
async function readBalances(
  endpoint: Endpoint,
  { head, count, capabilities, identify }: Balances,
  signal: AbortSignal,
): Promise<boolean> {
  const block = await fetchOwnBlock(endpoint, Math.max(capabilities.fromBlock, head.number - DEPTH), signal);
  const reads = Array.from({ length: count }, (_, i): Read => {
    const account = `0x${(i + 1).toString(16).padStart(40, '0')}`;
    return { chainId: 0, kind: 'native', contract: ZERO_ADDRESS, account, id: 0n, key: account };
  });
  return readOwn(endpoint.forClients(false), block, capabilities, identify, signal, reads);
}

/** The first of these sizes that works; 0 if none does. */
async function mostOf(sizes: readonly number[], work: (size: number) => Promise<unknown>): Promise<number> {
  for (const size of sizes) if (await succeeds(() => work(size))) return size;
  return 0;
}

const succeeds = async (work: () => Promise<unknown>): Promise<boolean> => {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return false;
  }
};
