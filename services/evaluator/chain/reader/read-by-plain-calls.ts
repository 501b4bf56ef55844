import { DECIDING_REVERT, failed, type Read, type Reading } from '../../domain/read.ts';
import { type Block, blockParameter, headerRequest, parseBlockAt } from '../blocks/block.ts';
import type { Callable } from '../endpoints/endpoint.ts';
import type { RpcOutcome, RpcRequest } from '../rpc/connect-rpc.ts';
import { isAbout, RpcFailure } from '../rpc/rpc-failure.ts';
import { callEach } from './call-each.ts';
import { calldataOf, ERC721_PROOFS, readReturned } from './calldata.ts';

const WORD = /^0x[0-9a-fA-F]{64}$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;

/**
 * Reads contracts that are known to have code by one `eth_call` each in JSON-RPC batches, for
 * endpoints that offer nothing better: the block is not proved. Each call has all the gas that the
 * endpoint gives, so its failure is final. Whether a contract whose `ownerOf` reverts is an ERC721
 * is asked in a second batch.
 *
 * @throws RpcFailure if a call failed for a reason that does not concern its contract
 */
export async function readByPlainCalls(
  endpoint: Callable,
  block: Block,
  reads: readonly Read[],
  pin: 'hash' | 'number',
  signal: AbortSignal,
): Promise<Reading[]> {
  const at = blockParameter(block, pin);
  const requests = reads.map((read) => requestOf(read, block, at));
  const outcomes = await callEach(endpoint, requests, signal, verified);
  const disowned = reads.filter(({ kind }, index) => kind === 'owner' && isDisowned(outcomes[index]));
  const contracts = [...new Set(disowned.map(({ contract }) => contract))];
  const proofs = contracts.flatMap((contract) => ERC721_PROOFS.map((data) => callOf(contract, data, at)));
  const proved = await callEach(endpoint, proofs, signal, verified);
  const isErc721 = new Set(
    contracts.filter((_, index) => isTrue(proved[2 * index]) || isTrue(proved[2 * index + 1])),
  );
  return reads.map((read, index) => judgeOutcome(read, outcomes[index], block, isErc721.has(read.contract)));
}

/**
 * Returns the contracts whose call for a read returns no data, as that of an address without code
 * does.
 *
 * @throws RpcFailure if the calls failed together
 */
export async function findSilent(
  endpoint: Callable,
  block: Block,
  reads: readonly Read[],
  pin: 'hash' | 'number',
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const at = blockParameter(block, pin);
  const requests = reads.map((read) => requestOf(read, block, at));
  const isSilent = (outcome: RpcOutcome) => outcome.ok && outcome.result === '0x';
  const silent = await callEach(endpoint, requests, signal, isSilent);
  return new Set(reads.filter((_, index) => silent[index]).map(({ contract }) => contract));
}

function requestOf(read: Read, { number }: Block, at: string): RpcRequest {
  if (read.kind === 'time') return headerRequest(number);
  const data = calldataOf(read);
  if (data === undefined) return { method: 'eth_getBalance', params: `["${read.account}",${at}]` };
  return callOf(read.contract, data, at);
}

const callOf = (to: string, data: string, at: string): RpcRequest => ({
  method: 'eth_call',
  params: `[{"to":"${to}","data":"0x${data}"},${at}]`,
});

/** Whether an `ownerOf` says that nobody owns the id. */
const isDisowned = (outcome: RpcOutcome | undefined): boolean =>
  outcome?.ok === false && outcome.failure.kind === 'reverted' && !outcome.failure.isAssertion;

function judgeOutcome(read: Read, outcome: RpcOutcome | undefined, block: Block, isErc721: boolean): Reading {
  if (outcome === undefined) throw new RpcFailure('malformed');
  if (!outcome.ok) {
    const { kind, isAssertion, hasRevertData, reading } = outcome.failure;
    if (kind !== 'reverted') return reading;
    if (read.kind === 'owner') {
      if (isAssertion) return failed('gas-exhausted');
      return isErc721 ? { ok: true, value: 0n } : DECIDING_REVERT;
    }
    return read.kind === 'call' && hasRevertData ? DECIDING_REVERT : reading;
  }
  const { result } = outcome;
  if (read.kind === 'time') {
    const { hash, timestamp } = parseBlockAt(block.number, result);
    if (hash !== block.hash) throw new RpcFailure('block-mismatch');
    return { ok: true, value: BigInt(timestamp) };
  }
  if (typeof result !== 'string') throw new RpcFailure('malformed');
  if (read.kind === 'native') {
    if (!/^0x[0-9a-fA-F]{1,64}$/.test(result)) throw new RpcFailure('malformed');
    return { ok: true, value: BigInt(result) };
  }
  return BYTES.test(result) ? readReturned(read, result.slice(2)) : failed('return-malformed');
}

const isTrue = (outcome: RpcOutcome | undefined): boolean =>
  outcome?.ok === true &&
  typeof outcome.result === 'string' &&
  WORD.test(outcome.result) &&
  BigInt(outcome.result) === 1n;

/** A call that failed for the endpoint's reasons fails the batch: another endpoint is to answer it.
 * So does one whose answer has no end, which says nothing of how the call ended. */
function verified(outcome: RpcOutcome): RpcOutcome {
  if (outcome.ok) return outcome;
  const { kind } = outcome.failure;
  if (!isAbout(kind, 'contract') || kind === 'endless') throw outcome.failure;
  return outcome;
}
