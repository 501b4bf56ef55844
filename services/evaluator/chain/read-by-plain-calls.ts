import { failed, type Read, type Reading } from '../domain/read.ts';
import { type Block, blockParameter } from './block.ts';
import { calldataOf, erc721Proofs } from './calldata.ts';
import type { RpcOutcome, RpcRequest } from './connect-rpc.ts';
import type { Callable } from './endpoint.ts';
import { type FailureKind, RpcFailure } from './rpc-failure.ts';

/** Calls of one JSON-RPC batch: what the stingiest of the well-known providers takes. */
const CALLS_PER_BATCH_MAX = 100;
const WORD = /^0x[0-9a-fA-F]{64}$/;

/** What a single call may say about its contract; every other failure is the endpoint's. */
const CONTRACT_FAILURES: ReadonlySet<FailureKind> = new Set([
  'reverted',
  'halted',
  'gas-exhausted',
  'evm-timeout',
]);

/**
 * Reads by one `eth_call` each in JSON-RPC batches, for endpoints that offer nothing better: the block is not
 * proved. What a single call leaves open (no code, or an ERC721 that knows no such id) is asked in a second batch.
 *
 * @throws RpcFailure where one call failed in a way that says nothing about its contract
 */
export async function readByPlainCalls(
  endpoint: Callable,
  block: Block,
  reads: readonly Read[],
  pin: 'hash' | 'number',
  signal: AbortSignal,
): Promise<Reading[]> {
  const at = blockParameter(block, pin);
  const outcomes = await callAll(
    endpoint,
    reads.map((read) => requestOf(read, at)),
    signal,
  );
  const followUps = reads.map((read, index) => followUpOf(read, outcomes[index], at));
  const answers = await callAll(endpoint, followUps.flat(), signal);
  let next = 0;
  return reads.map((read, index) => {
    const asked = followUps[index]?.length ?? 0;
    const reading = judgeOutcome(read, outcomes[index], answers.slice(next, next + asked));
    next += asked;
    return reading;
  });
}

function requestOf(read: Read, at: string): RpcRequest {
  const data = calldataOf(read);
  if (data === undefined) return { method: 'eth_getBalance', params: `["${read.account}",${at}]` };
  return callOf(read.contract, data, at);
}

const callOf = (to: string, data: string, at: string): RpcRequest => ({
  method: 'eth_call',
  params: `[{"to":"${to}","data":"0x${data}"},${at}]`,
});

/** What else must be asked to understand an outcome. */
function followUpOf(read: Read, outcome: RpcOutcome | undefined, at: string): RpcRequest[] {
  if (outcome === undefined || read.kind === 'native') return [];
  if (outcome.ok) {
    const isEmpty = outcome.result === '0x';
    return isEmpty ? [{ method: 'eth_getCode', params: `["${read.contract}",${at}]` }] : [];
  }
  if (read.kind !== 'owner' || outcome.failure.kind !== 'reverted') return [];
  return erc721Proofs(read).map((data) => callOf(read.contract, data, at));
}

function judgeOutcome(
  read: Read,
  outcome: RpcOutcome | undefined,
  followUps: readonly RpcOutcome[],
): Reading {
  if (outcome === undefined) throw new RpcFailure('malformed');
  if (!outcome.ok) {
    if (followUps.length > 0 && answersAsErc721(followUps)) return { ok: true, value: 0n };
    return failed(outcome.failure.code);
  }
  const { result } = outcome;
  if (typeof result !== 'string') throw new RpcFailure('malformed');
  if (read.kind === 'native') {
    if (!/^0x[0-9a-fA-F]{1,64}$/.test(result)) throw new RpcFailure('malformed');
    return { ok: true, value: BigInt(result) };
  }
  if (WORD.test(result)) return { ok: true, value: BigInt(result) };
  const [code] = followUps;
  const hasNoCode = code?.ok === true && code.result === '0x';
  return failed(hasNoCode ? 'contract-not-found' : 'return-malformed');
}

function answersAsErc721([supports, balance]: readonly RpcOutcome[]): boolean {
  const word = (outcome: RpcOutcome | undefined) =>
    outcome?.ok === true && typeof outcome.result === 'string' && WORD.test(outcome.result)
      ? BigInt(outcome.result)
      : undefined;
  return word(supports) === 1n || word(balance) !== undefined;
}

async function callAll(
  endpoint: Callable,
  requests: readonly RpcRequest[],
  signal: AbortSignal,
): Promise<RpcOutcome[]> {
  const outcomes: RpcOutcome[] = [];
  const partMax = Math.min(CALLS_PER_BATCH_MAX, endpoint.limit.current);
  for (let from = 0; from < requests.length; from += partMax) {
    const part = requests.slice(from, from + partMax);
    outcomes.push(...(await endpoint.use(signal, async (rpc) => verified(await rpc.callMany(part, signal)))));
  }
  return outcomes;
}

/** A call that failed for the endpoint's reasons fails the batch: another endpoint is to answer it. */
function verified(outcomes: RpcOutcome[]): RpcOutcome[] {
  for (const outcome of outcomes)
    if (!outcome.ok && !CONTRACT_FAILURES.has(outcome.failure.kind)) throw outcome.failure;
  return outcomes;
}
