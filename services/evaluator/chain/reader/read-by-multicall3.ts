import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils';
import { failed, REVERTED_WITH_DATA, type Read, type Reading } from '../../domain/read.ts';
import { type Block, blockParameter } from '../blocks/block.ts';
import type { Callable } from '../endpoints/endpoint.ts';
import type { Rpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { type FailureKind, mayBeContractFault, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { calldataOf, ERC721_PROOFS, readReturned } from './calldata.ts';
import {
  type Aggregated,
  type AggregatedAnswer,
  decodeAggregate3,
  encodeAggregate3,
} from './multicall3-codec.ts';
import { readByPlainCalls } from './read-by-plain-calls.ts';
import { type BatchReadings, PERHAPS_OUT_OF_GAS, type Suspect } from './readings.ts';

/** The same on every chain that has it: github.com/mds1/multicall3. */
export const MULTICALL3_ADDRESS = '0xca11bde05977b3631167028862be2a173976ca11';
/** keccak-256 of its runtime code: whatever else is at the address is not trusted with balances. */
const MULTICALL3_CODE_HASH = 'd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891';

/** `getBlockNumber()`, `getLastBlockHash()`, `getEthBalance(address)`. */
const BLOCK_NUMBER = '42cbb15c';
const LAST_BLOCK_HASH = '27e86d6e';
const NATIVE_BALANCE = '4d2301cc';

const WORD_DIGITS = 64;
const SELECTOR_DIGITS = 8;
const word = (digits: string): string => digits.padStart(WORD_DIGITS, '0');

/**
 * A call that costs 350 000 gas or more and almost no time: the precompile for modular exponentiation takes the price
 * for the lengths (base 0, exponent 32, modulus 512 bytes) and the exponent 2^255 before it finds that the modulus
 * is 0. Last in a call it succeeds only where as much gas was left for each call before it.
 */
const GAS_GAUGE: Aggregated = {
  target: `0x${'05'.padStart(40, '0')}`,
  calldata: `${word('')}${word('20')}${word('200')}8${'0'.repeat(WORD_DIGITS - 1)}`,
};
const GAUGE_ANSWER_DIGITS = 2 * 512;
/** Calls of one JSON-RPC batch: the least that any of the well-known providers takes. */
const CALLS_PER_BATCH_MAX = 100;
/** Calls that confirm the reverts of one shared call; the reads of further groups are read again alone. */
const CONFIRMING_CALLS_MAX = 8;

/** Whether an answer of `eth_getCode` is the code of Multicall3. */
export function isMulticall3(code: unknown): boolean {
  if (typeof code !== 'string' || !/^0x([0-9a-fA-F]{2})+$/.test(code)) return false;
  return bytesToHex(keccak_256(hexToBytes(code.slice(2)))) === MULTICALL3_CODE_HASH;
}

type Options = { readonly pin: 'hash' | 'number'; readonly isIsolated: boolean };

/**
 * Reads contracts that are known to have code through Multicall3, for endpoints that allow no state override: one
 * `eth_call` per contract, and the block proved by the same call. Multicall3 has no stipend, so a call may have failed
 * because an earlier one used up the gas: a second call confirms that it reverts with enough gas. A call without that
 * confirmation is a suspect, and is read again alone. Without reads, one call proves the block.
 *
 * @throws RpcFailure `block-mismatch` where another block answered; else as the endpoint fails
 */
export async function readByMulticall3(
  endpoint: Callable,
  block: Block,
  reads: readonly Read[],
  { pin, isIsolated }: Options,
  signal: AbortSignal,
): Promise<BatchReadings> {
  const call: CallApart = (groups) => aggregate(endpoint, block, groups, pin, signal);
  if (!isIsolated) return readTogether(call, reads);
  const explain = async (read: Read) => {
    const [reading] = await readByPlainCalls(endpoint, block, [read], pin, signal);
    return reading ?? failed('call-reverted');
  };
  return Promise.all(reads.map((read) => readIsolated(call, explain, read)));
}

/** Makes an `eth_call` for each group: no group sees the writes of another. */
type CallApart = (groups: readonly (readonly Aggregated[])[]) => Promise<AggregatedAnswer[][]>;

async function readTogether(call: CallApart, reads: readonly Read[]): Promise<BatchReadings> {
  const groups = reads.length === 0 ? [[]] : groupReads(reads);
  const answers = await call(groups.map((group) => group.map(aggregatedOf)));
  const byRead = new Map<Read, Reading | Suspect>();
  const refused: Read[][] = [];
  for (const [index, group] of groups.entries()) {
    const readings = group.map((read, place) => readingOf(read, answers[index]?.[place]));
    for (const [place, read] of group.entries()) byRead.set(read, readings[place] ?? PERHAPS_OUT_OF_GAS);
    const failing = group.filter((_, place) => readings[place] === undefined);
    if (failing.length > 0) refused.push(failing);
  }
  const confirm = async (group: readonly Read[]) => {
    for (const [read, reading] of await confirmReverts(call, group, isFatal)) byRead.set(read, reading);
  };
  await Promise.all(refused.slice(0, CONFIRMING_CALLS_MAX).map(confirm));
  return reads.map((read) => byRead.get(read));
}

/** Failures that end a shared call whose other readings are known: they are not wanted any more, or of another block. */
const isFatal = (kind: FailureKind): boolean => kind === 'abandoned' || kind === 'block-mismatch';

/**
 * The reads that may share a call. Multicall3 makes no static calls, so a read sees what the reads before it wrote: a
 * hostile contract could send tokens away before their balance is read. In a separate call a contract can falsify only
 * its own answers. A function that a client named may write, so it shares a call only with calls of the same function.
 */
function groupReads(reads: readonly Read[]): Read[][] {
  const groups = new Map<string, Read[]>();
  for (const read of reads) {
    const selector = read.call?.calldata.slice(0, SELECTOR_DIGITS) ?? '';
    const key = read.kind === 'native' ? read.kind : `${read.contract}/${selector}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [read]);
    else group.push(read);
  }
  return [...groups.values()];
}

/**
 * One read by a separate call. If it fails, a plain call shows the cause: it has the most gas, and its node
 * distinguishes a revert from used-up gas. Behind a proxy used-up gas looks like a revert too, so a revert is confirmed.
 */
async function readIsolated(
  call: CallApart,
  explain: (read: Read) => Promise<Reading>,
  read: Read,
): Promise<Reading> {
  try {
    const [answers] = await call([[aggregatedOf(read)]]);
    const reading = readingOf(read, answers?.[0]);
    if (reading !== undefined) return reading;
  } catch (error) {
    if (!mayBeContractFault(toRpcFailure(error).kind)) throw error;
  }
  const explained = await explain(read);
  if (!explained.ok && explained.code !== 'call-reverted') return explained;
  // Its answer depends on the caller, so another way of reading would get a different one.
  if (explained.ok && (explained.value !== 0n || read.kind === 'call')) return failed('call-reverted');
  const isOfEndpoint = (kind: FailureKind) => !mayBeContractFault(kind) && kind !== 'timeout';
  const confirmed = (await confirmReverts(call, [read], isOfEndpoint)).get(read);
  return confirmed === undefined || 'suspected' in confirmed ? failed('gas-exhausted') : confirmed;
}

/**
 * Tells reverts from used-up gas: every read that failed is made twice more in one call, and the gas gauge comes last.
 * A call that burns all its gas leaves a 64th, and twice that is far too little for the gauge.
 *
 * @param isThrown whether a failure of the call is thrown; after any other one no revert is confirmed
 */
async function confirmReverts(
  call: CallApart,
  reads: readonly Read[],
  isThrown: (kind: FailureKind) => boolean,
): Promise<ReadonlyMap<Read, Reading | Suspect>> {
  const [first] = reads;
  if (first === undefined) return new Map();
  const isOwned = reads.some(({ kind }) => kind === 'owner');
  const proofs = isOwned ? ERC721_PROOFS.map((calldata) => ({ target: first.contract, calldata })) : [];
  const twice = [...reads, ...reads].map(aggregatedOf);
  const [answers = []] = await call([[...proofs, ...twice, GAS_GAUGE]]).catch((error: unknown) => {
    if (isThrown(toRpcFailure(error).kind)) throw error;
    return [];
  });
  const gauge = answers.at(-1);
  if (gauge?.success !== true || gauge.data.length !== GAUGE_ANSWER_DIGITS) return new Map();
  const isErc721 = answers.slice(0, proofs.length).some(isTrue);
  const again = answers.slice(proofs.length);
  return new Map(
    reads.map((read, index) => {
      const isRevert = again[index]?.success === false && again[reads.length + index]?.success === false;
      const isNotOwned = read.kind === 'owner' && isErc721;
      const isReasoned =
        read.kind === 'call' && again[index]?.data !== '' && again[reads.length + index]?.data !== '';
      const failure = isReasoned ? REVERTED_WITH_DATA : failed('call-reverted');
      const revert: Reading = isNotOwned ? { ok: true, value: 0n } : failure;
      return [read, isRevert ? revert : PERHAPS_OUT_OF_GAS];
    }),
  );
}

async function aggregate(
  endpoint: Callable,
  block: Block,
  groups: readonly (readonly Aggregated[])[],
  pin: 'hash' | 'number',
  signal: AbortSignal,
): Promise<AggregatedAnswer[][]> {
  const proofs = [BLOCK_NUMBER, LAST_BLOCK_HASH].map((calldata) => ({
    target: MULTICALL3_ADDRESS,
    calldata,
  }));
  const requests = groups.map((calls) => {
    const data = encodeAggregate3([...proofs, ...calls]);
    return {
      method: 'eth_call',
      params: `[{"to":"${MULTICALL3_ADDRESS}","data":"${data}"},${blockParameter(block, pin)}]`,
    };
  });
  const aggregated: AggregatedAnswer[][] = [];
  for (let from = 0; from < requests.length; from += CALLS_PER_BATCH_MAX)
    await endpoint.use(signal, async (rpc) => {
      const part = requests.slice(from, from + CALLS_PER_BATCH_MAX);
      for (const result of await callEach(rpc, part, signal)) {
        const calls = groups[aggregated.length] ?? [];
        const answers = decodeAggregate3(result, calls.length + proofs.length);
        if (answers === undefined) throw new RpcFailure('malformed');
        verifyBlock(answers, block);
        aggregated.push(answers.slice(proofs.length));
      }
    });
  return aggregated;
}

/** The results of all requests. @throws RpcFailure of the first that failed */
async function callEach(rpc: Rpc, requests: readonly RpcRequest[], signal: AbortSignal): Promise<unknown[]> {
  const [only] = requests;
  if (only !== undefined && requests.length === 1) return [await rpc.call(only, signal)];
  return (await rpc.callMany(requests, signal)).map((outcome) => {
    if (!outcome.ok) throw outcome.failure;
    return outcome.result;
  });
}

function aggregatedOf(read: Read): Aggregated {
  const calldata = calldataOf(read);
  if (calldata !== undefined) return { target: read.contract, calldata };
  return { target: MULTICALL3_ADDRESS, calldata: NATIVE_BALANCE + word(read.account.slice(2)) };
}

function verifyBlock([number, parentHash]: readonly AggregatedAnswer[], block: Block): void {
  const isSameNumber =
    number?.data.length === WORD_DIGITS && BigInt(`0x${number.data}`) === BigInt(block.number);
  if (!isSameNumber || `0x${parentHash?.data.toLowerCase()}` !== block.parentHash)
    throw new RpcFailure('block-mismatch');
}

/** The answer of a successful call; nothing for a failed one. */
const readingOf = (read: Read, answer: AggregatedAnswer | undefined): Reading | undefined =>
  answer?.success ? readReturned(read, answer.data) : undefined;

const isTrue = (answer: AggregatedAnswer | undefined): boolean =>
  answer?.success === true && answer.data.length === WORD_DIGITS && BigInt(`0x${answer.data}`) === 1n;
