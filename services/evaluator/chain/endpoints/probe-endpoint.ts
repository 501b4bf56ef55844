import { pause } from '#shared/wait-for.ts';
import { type Block, blockParameter, fetchBlock, fetchOwnBlock, quantity } from '../blocks/block.ts';
import { isMulticall3, MULTICALL3_ADDRESS, readByMulticall3 } from '../reader/read-by-multicall3.ts';
import { readByReader } from '../reader/read-by-reader.ts';
import { callZeroAddress } from '../reader/read-from-endpoint.ts';
import { HISTORY_ADDRESS, type IdentifyState, isHistoryCode } from '../reader/state-identity.ts';
import { type FailureKind, isAbout, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import type { Callable, Capabilities, Endpoint } from './endpoint.ts';

/** The probe reads this many blocks below the head: every node behind the endpoint's URL has that
 * block. */
export const DEPTH = 16;

/** How many times one call of a probe may be refused for its rate, and how long to wait each time. */
const REFUSALS_MAX = 2;
const WAIT_MS_MAX = 2_000;

const PINS = [{ pin: 'hash' }, { pin: 'number' }] as const;

type Pin = 'hash' | 'number';

/** Arbitrum chains are detected by their own answer, so that no list of them is needed. */
const PROVING_WAYS = [
  { pin: 'hash', source: 'evm' },
  { pin: 'hash', source: 'arbsys' },
  { pin: 'number', source: 'evm' },
  { pin: 'number', source: 'arbsys' },
] as const;
type ProvingWay = (typeof PROVING_WAYS)[number];

/** How far below the head the blocks are at which another kind of block hash must show. */
const DEPTHS = [0, 1, 8];

/**
 * Probes the capabilities of an endpoint: whether it serves this chain, whether a call can be
 * pinned to a block's hash, and the best method it supports for reading many balances.
 *
 * @throws RpcFailure `wrong-chain` if it serves another chain, `rpc-error` if no call works at all,
 *   else the endpoint's own failure
 */
export async function probeEndpoint(
  endpoint: Endpoint,
  chainId: number,
  identify: IdentifyState,
  signal: AbortSignal,
): Promise<Capabilities> {
  const whenFree = <T>(ask: () => Promise<T>) => askWhenFree(endpoint, ask, signal);
  await whenFree(() => readChainId(endpoint, signal, (id) => id === chainId));
  const head = await whenFree(() => fetchBlock(endpoint, 'latest', signal));
  endpoint.headNumber = head.number;
  const block = await whenFree(() => fetchOwnBlock(endpoint, Math.max(0, head.number - DEPTH), signal));
  const hanging = new Set<Pin>();
  // Finding out what an endpoint cannot do must not open its breaker: the probe as a whole counts
  // once.
  const onTrial: Callable = {
    limit: endpoint.limit,
    use: (ownSignal, send) =>
      whenFree(() =>
        endpoint.use(ownSignal, send, 'call', ({ kind, strikes }) =>
          isAbout(kind, 'transport') ? strikes : 0,
        ),
      ),
  };
  // No method can prove a block on a chain with other block hashes.
  let isProvable = true;
  const firstProving = (at: Block, attempt: ProvingAttempt) =>
    firstThatWorks(PROVING_WAYS, hanging, (way) => attempt(way, at)).catch(async (error) => {
      if (toRpcFailure(error).kind !== 'block-hash-mismatch') throw error;
      const fetchAt = (number: number) => fetchOwnBlock(endpoint, number, signal);
      if (!(await hasOtherHashes(at, hanging, attempt, fetchAt))) throw error;
      isProvable = false;
      return undefined;
    });
  const fromBlock = block.number;
  const byReader = await firstProving(block, (way, at) =>
    readByReader(onTrial, at, [], { ...way, stipend: 0, isIsolated: true, identify }, signal),
  );
  if (byReader !== undefined) return { method: 'reader', ...byReader, fromBlock };
  // On a young chain it may have been deployed since the older block.
  const hasMulticall3 = async (at: string) =>
    isMulticall3(await codeAt(onTrial, MULTICALL3_ADDRESS, at, signal));
  const isOld = isProvable && (await hasMulticall3(`0x${block.number.toString(16)}`));
  if (isOld || (isProvable && (await hasMulticall3('latest')))) {
    const young = isOld ? block : head;
    const history = await codeAt(onTrial, HISTORY_ADDRESS, `0x${young.number.toString(16)}`, signal);
    const hasHistory = isHistoryCode(history);
    const way = await firstProving(young, (one, at) =>
      readByMulticall3(onTrial, at, [], { ...one, isIsolated: false, identify, hasHistory }, signal),
    );
    if (way !== undefined) return { method: 'multicall3', ...way, hasHistory, fromBlock: young.number };
  }
  const byPlain = await firstThatWorks(PINS, hanging, ({ pin }) =>
    callZeroAddress(onTrial, blockParameter(block, pin), signal),
  );
  // Not even a call to the zero address works, so the endpoint is faulty and its capabilities are
  // unknown.
  if (byPlain === undefined) throw new RpcFailure('rpc-error');
  return { method: 'plain', ...byPlain, source: 'evm', fromBlock };
}

/** Waits for an endpoint that refuses a call for its rate: beginning anew would repeat all calls of
 * the probe, and meet the next refusal. */
async function askWhenFree<T>(endpoint: Endpoint, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let refusals = 0; ; refusals += 1) {
    await pause(Math.min(endpoint.waitMs, WAIT_MS_MAX), signal);
    try {
      return await ask();
    } catch (error) {
      const { kind } = toRpcFailure(error);
      if ((kind !== 'rate-limited' && kind !== 'over-rate') || refusals >= REFUSALS_MAX) throw error;
    }
  }
}

/** @throws RpcFailure `malformed` if the answer is not a number, `wrong-chain` if it is none that is
 * expected */
export const readChainId = (
  endpoint: Endpoint,
  signal: AbortSignal,
  isExpected = (_chainId: number): boolean => true,
): Promise<number> =>
  endpoint.use(signal, async (rpc) => {
    const answer = quantity.safeParse(await rpc.call({ method: 'eth_chainId', params: '[]' }, signal));
    if (!answer.success) throw new RpcFailure('malformed');
    if (!isExpected(answer.data)) throw new RpcFailure('wrong-chain');
    return answer.data;
  });

/** Whether an endpoint does not support a way of reading; some answer a call that they do not know
 * with anything. */
const isRefusal = (kind: FailureKind): boolean => isAbout(kind, 'contract', 'call');

/** Tries to read at a block in some way. @throws RpcFailure */
type ProvingAttempt = (way: ProvingWay, block: Block) => Promise<unknown>;

/**
 * Whether `BLOCKHASH` is not the hash of the headers on this chain: some zk rollups have the root
 * of the state there. Then the EVM runs at the number of each block that is asked for, with every
 * pin that is accepted, and never with its parent's hash. An endpoint that ignores the pin has the
 * wrong number, and one on another fork has the same older blocks.
 *
 * @throws RpcFailure if the endpoint does not answer
 */
async function hasOtherHashes(
  head: Block,
  hanging: ReadonlySet<Pin>,
  attempt: ProvingAttempt,
  fetchAt: (number: number) => Promise<Block>,
): Promise<boolean> {
  const depths = DEPTHS.filter((depth) => depth < head.number);
  const ways = PROVING_WAYS.filter(({ pin, source }) => source === 'evm' && !hanging.has(pin));
  const shown = depths.map(async (depth) => {
    const block = depth === 0 ? head : await fetchAt(head.number - depth);
    const failures = await Promise.all(ways.map((way) => failureOf(() => attempt(way, block))));
    const kinds = failures.map((failure) => failure?.kind);
    const isShown = kinds.includes('block-hash-mismatch');
    return isShown && kinds.every((kind) => kind === 'block-hash-mismatch' || (kind && isRefusal(kind)));
  });
  return (await Promise.all(shown)).every((isShown) => isShown) && depths.length > 1;
}

/**
 * The code at an address; `undefined` if the endpoint refuses to tell.
 *
 * @param at a number or tag: that calls can be pinned to a hash is not known yet
 */
async function codeAt(
  endpoint: Callable,
  address: string,
  at: string,
  signal: AbortSignal,
): Promise<unknown> {
  const request = { method: 'eth_getCode', params: `["${address}","${at}"]` };
  let code: unknown;
  await failureOf(async () => {
    code = await endpoint.use(signal, (rpc) => rpc.call(request, signal));
  });
  return code;
}

/**
 * Returns the first way that works; `undefined` if the endpoint refused all of them. Any other
 * failure (wrong block, missing block) is not a refusal and is thrown: falling back to a lesser way
 * would only hide it. Some nodes never answer a call that names its block by hash, so after such a
 * timeout the block number is tried.
 *
 * @param hanging the pins whose calls timed out in this probe; ways with these pins are skipped
 *
 * @throws RpcFailure
 */
async function firstThatWorks<W extends { readonly pin: Pin }>(
  ways: readonly W[],
  hanging: Set<Pin>,
  attempt: (way: W) => Promise<unknown>,
): Promise<W | undefined> {
  const failures: RpcFailure[] = [];
  for (const way of ways) {
    if (hanging.has(way.pin)) continue;
    const failure = await failureOf(() => attempt(way)).catch((error: RpcFailure) => {
      if (error.kind !== 'timeout' || way.pin !== 'hash') throw error;
      return error;
    });
    if (failure === undefined) return way;
    if (failure.kind === 'timeout') {
      hanging.add(way.pin);
      continue;
    }
    failures.push(failure);
  }
  const find = (wanted: FailureKind) => failures.find(({ kind }) => kind === wanted);
  const mismatch = find('block-hash-mismatch') ?? find('block-mismatch');
  const fault = mismatch ?? failures.find(({ kind }) => !isRefusal(kind));
  if (fault !== undefined) throw fault;
  return undefined;
}

/** Returns why an attempt failed.
 * @throws RpcFailure for a transport failure, which is not an answer */
async function failureOf(attempt: () => Promise<unknown>): Promise<RpcFailure | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    const failure = toRpcFailure(error);
    if (isAbout(failure.kind, 'transport')) throw failure;
    return failure;
  }
}
