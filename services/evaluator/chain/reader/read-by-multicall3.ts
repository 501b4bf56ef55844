import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils';
import { failed, REVERTED_WITH_DATA, type Read, type Reading } from '../../domain/read.ts';
import { type Block, blockParameter } from '../blocks/block.ts';
import type { Callable } from '../endpoints/endpoint.ts';
import { mayBeContractFault, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
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
/** Contracts whose reverts are confirmed one by one where all of them together left too little gas. */
const CONTRACTS_APART_MAX = 4;

/** Whether an answer of `eth_getCode` is the code of Multicall3. */
export function isMulticall3(code: unknown): boolean {
  if (typeof code !== 'string' || !/^0x([0-9a-fA-F]{2})+$/.test(code)) return false;
  return bytesToHex(keccak_256(hexToBytes(code.slice(2)))) === MULTICALL3_CODE_HASH;
}

type Options = { readonly pin: 'hash' | 'number'; readonly isIsolated: boolean };

/**
 * Reads contracts that are known to have code through Multicall3, for endpoints that allow no state override: one
 * `eth_call`, and the block proved by the same call. Multicall3 has no stipend, so a call that failed may have been
 * robbed of its gas by one before it: a second call confirms that it reverts with enough gas. One that does not is a
 * suspect, and read by a call of its own once alone.
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
  const call: Call = (calls) => aggregate(endpoint, block, calls, pin, signal);
  if (!isIsolated) return readTogether(call, reads);
  const explain = async (read: Read) => {
    const [reading] = await readByPlainCalls(endpoint, block, [read], pin, signal);
    return reading ?? failed('call-reverted');
  };
  return Promise.all(reads.map((read) => readIsolated(call, explain, read)));
}

type Call = (calls: readonly Aggregated[]) => Promise<AggregatedAnswer[]>;

async function readTogether(call: Call, reads: readonly Read[]): Promise<BatchReadings> {
  const answers = await call(reads.map(aggregatedOf));
  const readings = reads.map((read, index) => readingOf(read, answers[index]));
  const refused = reads.filter((_, index) => readings[index] === undefined);
  const confirmed = await confirmReverts(call, refused);
  return reads.map((read, index) => readings[index] ?? confirmed.get(read) ?? PERHAPS_OUT_OF_GAS);
}

/**
 * One read by a call of its own. Where it fails, a plain call says how: it has the most gas there is, and its node
 * tells a revert from used-up gas. Behind a proxy also used-up gas looks like a revert, so a revert is confirmed.
 */
async function readIsolated(
  call: Call,
  explain: (read: Read) => Promise<Reading>,
  read: Read,
): Promise<Reading> {
  try {
    const [answer] = await call([aggregatedOf(read)]);
    const reading = readingOf(read, answer);
    if (reading !== undefined) return reading;
  } catch (error) {
    if (!mayBeContractFault(toRpcFailure(error).kind)) throw error;
  }
  const explained = await explain(read);
  if (!explained.ok && explained.code !== 'call-reverted') return explained;
  // It answers its caller by who that is: no answer that another way of reading would get as well.
  if (explained.ok && (explained.value !== 0n || read.kind === 'call')) return failed('call-reverted');
  const confirmed = (await confirmReverts(call, [read])).get(read);
  return confirmed === undefined || 'suspected' in confirmed ? failed('gas-exhausted') : confirmed;
}

/**
 * Tells reverts from used-up gas: every read that failed is made twice more in one call, and the gas gauge comes last.
 * A call that burns what it is given leaves a 64th, and twice that is far too little for the gauge.
 */
async function confirmReverts(
  call: Call,
  reads: readonly Read[],
  isTogether = true,
): Promise<ReadonlyMap<Read, Reading | Suspect>> {
  if (reads.length === 0) return new Map();
  const owned = [...new Set(reads.filter(({ kind }) => kind === 'owner').map(({ contract }) => contract))];
  const proofs = owned.flatMap((target) => ERC721_PROOFS.map((calldata) => ({ target, calldata })));
  const twice = [...reads, ...reads].map(aggregatedOf);
  const answers = await call([...proofs, ...twice, GAS_GAUGE]).catch((error: unknown) => {
    const { kind } = toRpcFailure(error);
    if (!mayBeContractFault(kind) && kind !== 'timeout') throw error;
    return [];
  });
  const gauge = answers.at(-1);
  if (gauge?.success === true && gauge.data.length === GAUGE_ANSWER_DIGITS) {
    const isErc721 = new Set(
      owned.filter((_, index) => isTrue(answers[2 * index]) || isTrue(answers[2 * index + 1])),
    );
    const again = answers.slice(proofs.length);
    return new Map(
      reads.map((read, index) => {
        const isRevert = again[index]?.success === false && again[reads.length + index]?.success === false;
        const isNotOwned = read.kind === 'owner' && isErc721.has(read.contract);
        const isReasoned =
          read.kind === 'call' && again[index]?.data !== '' && again[reads.length + index]?.data !== '';
        const failure = isReasoned ? REVERTED_WITH_DATA : failed('call-reverted');
        const revert: Reading = isNotOwned ? { ok: true, value: 0n } : failure;
        return [read, isRevert ? revert : PERHAPS_OUT_OF_GAS];
      }),
    );
  }
  const contracts = [...new Set(reads.map(({ contract }) => contract))];
  const confirmed = new Map<Read, Reading | Suspect>();
  if (!isTogether || contracts.length === 1) return confirmed;
  for (const contract of contracts.slice(0, CONTRACTS_APART_MAX)) {
    const ofContract = reads.filter((read) => read.contract === contract);
    for (const [read, reading] of await confirmReverts(call, ofContract, false)) confirmed.set(read, reading);
  }
  return confirmed;
}

async function aggregate(
  endpoint: Callable,
  block: Block,
  calls: readonly Aggregated[],
  pin: 'hash' | 'number',
  signal: AbortSignal,
): Promise<AggregatedAnswer[]> {
  const proofs = [BLOCK_NUMBER, LAST_BLOCK_HASH].map((calldata) => ({
    target: MULTICALL3_ADDRESS,
    calldata,
  }));
  const data = encodeAggregate3([...proofs, ...calls]);
  const params = `[{"to":"${MULTICALL3_ADDRESS}","data":"${data}"},${blockParameter(block, pin)}]`;
  return endpoint.use(signal, async (rpc) => {
    const answers = decodeAggregate3(
      await rpc.call({ method: 'eth_call', params }, signal),
      calls.length + 2,
    );
    if (answers === undefined) throw new RpcFailure('malformed');
    verifyBlock(answers, block);
    return answers.slice(2);
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
