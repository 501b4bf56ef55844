import { calleeOf, DECIDING_REVERT, failed, type Read, type Reading } from '../../domain/read.ts';
import { type Block, blockParameter, verifyBlock } from '../blocks/block.ts';
import type { Callable, Capabilities } from '../endpoints/endpoint.ts';
import { isAssertion } from '../rpc/classify-rpc-error.ts';
import { type FailureKind, isAbout, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { callEach } from './call-each.ts';
import { calldataOf, ERC721_PROOFS, readReturned } from './calldata.ts';
import { readByPlainCalls } from './read-by-plain-calls.ts';
import type { BlockSource, KeptPair } from './reader-codec.ts';
import { type Answered, NOT_OWNED, PERHAPS_OUT_OF_GAS, type Suspect } from './readings.ts';
import {
  HISTORY_ADDRESS,
  HISTORY_BLOCKS,
  hashOfCode,
  type IdentifyState,
  NO_HASH,
  NOTHING_KEPT,
} from './state-identity.ts';

/** One call of an `aggregate3`. */
export type Aggregated = {
  readonly target: string;
  /** Hex without `0x`. */
  readonly calldata: string;
  /** Whether all calls are undone if it fails; default: it fails alone. */
  readonly isRequired?: boolean;
};

/** The result of one call of an `aggregate3`; `data` is hex without `0x`. */
export type AggregatedAnswer = { readonly success: boolean; readonly data: string };

const AGGREGATE3 = '82ad56cb';
const WORD_BYTES = 32;
const WORD_DIGITS = 2 * WORD_BYTES;

const word = (digits: string): string => digits.padStart(WORD_DIGITS, '0');
const sizeWord = (value: number): string => word(value.toString(16));

/**
 * The calldata of `aggregate3((address target, bool allowFailure, bytes callData)[])`, `0x` and
 * hex, written by its layout: an offset per call, then per call target, whether it may fail, offset
 * 96, length, padded data. A call that is made several times in a row is written once.
 *
 * @param calls each with the number of times that it is made
 */
export function encodeAggregate3(calls: readonly (readonly [Aggregated, number])[]): string {
  let count = 0;
  for (const [, times] of calls) count += times;
  let offsets = '';
  let tail = '';
  for (const [{ target, calldata, isRequired = false }, times] of calls) {
    offsets += sizeWord(count * WORD_BYTES + tail.length / 2).repeat(times);
    const padded = calldata.padEnd(Math.ceil(calldata.length / WORD_DIGITS) * WORD_DIGITS, '0');
    tail +=
      target.slice(2).padStart(WORD_DIGITS, '0') +
      sizeWord(isRequired ? 0 : 1) +
      sizeWord(3 * WORD_BYTES) +
      sizeWord(calldata.length / 2) +
      padded;
  }
  return `0x${AGGREGATE3}${sizeWord(WORD_BYTES)}${sizeWord(count)}${offsets}${tail}`;
}

/**
 * Takes the answer of `aggregate3` apart; `undefined` if it is not exactly `count` well-formed
 * answers. Every offset and length is checked against the answer's end.
 */
export function decodeAggregate3(answer: unknown, count: number): AggregatedAnswer[] | undefined {
  if (typeof answer !== 'string' || !/^0x([0-9a-fA-F]{64})+$/.test(answer)) return undefined;
  const hex = answer.slice(2);
  const start = readNumber(hex, 0);
  if (start === undefined || readNumber(hex, start) !== count) return undefined;
  const base = start + WORD_BYTES;
  const answers: AggregatedAnswer[] = [];
  for (let index = 0; index < count; index++) {
    const one = decodeOne(hex, base, base + index * WORD_BYTES);
    if (one === undefined) return undefined;
    answers.push(one);
  }
  return answers;
}

function decodeOne(hex: string, base: number, offsetAt: number): AggregatedAnswer | undefined {
  const offset = readNumber(hex, offsetAt);
  const at = offset === undefined ? undefined : base + offset;
  const success = at === undefined ? undefined : readNumber(hex, at);
  const dataOffset = at === undefined ? undefined : readNumber(hex, at + WORD_BYTES);
  if (at === undefined || dataOffset === undefined || (success !== 0 && success !== 1)) return undefined;
  const length = readNumber(hex, at + dataOffset);
  if (length === undefined) return undefined;
  const from = 2 * (at + dataOffset + WORD_BYTES);
  if (from + 2 * length > hex.length) return undefined;
  return { success: success === 1, data: hex.slice(from, from + 2 * length) };
}

/** The word at a byte offset as a number; `undefined` beyond the end, or if it is too large for a
 * length or offset. */
function readNumber(hex: string, atByte: number): number | undefined {
  const digits = hex.slice(2 * atByte, 2 * atByte + WORD_DIGITS);
  if (digits.length !== WORD_DIGITS || !digits.startsWith('0'.repeat(WORD_DIGITS - 8))) return undefined;
  return Number.parseInt(digits, 16);
}

/** The same on every chain that has it: github.com/mds1/multicall3. */
export const MULTICALL3_ADDRESS = '0xca11bde05977b3631167028862be2a173976ca11';
/** keccak-256 of its runtime code: whatever else is at the address is not trusted with balances. */
const MULTICALL3_CODE_HASH = 'd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891';

/** `getBlockNumber()`, `getLastBlockHash()`, `getEthBalance(address)`. */
const BLOCK_NUMBER = '42cbb15c';
const LAST_BLOCK_HASH = '27e86d6e';
const NATIVE_BALANCE = '4d2301cc';
const BLOCK_TIME = '0f28c97d';
/** Of Arbitrum's chains: `arbBlockNumber()`, `arbBlockHash(uint256)`. */
const ARBSYS_ADDRESS = `0x${'64'.padStart(40, '0')}`;
const ARB_BLOCK_NUMBER = 'a3b1b31d';
const ARB_BLOCK_HASH = '2b407a82';

/** The precompile for adding points of a curve, with a point that is none: it uses up all gas that
 * it gets, at once. */
const BURN: Aggregated = { target: `0x${'06'.padStart(40, '0')}`, calldata: `${word('1')}${word('1')}` };
/** The precompile for signatures: without any it costs 3 000 gas and answers nothing. */
const RECOVER: Aggregated = { target: `0x${'01'.padStart(40, '0')}`, calldata: '' };
/** A function that Multicall3 lacks: a call of it always reverts, at once. */
const FAILING: Aggregated = { target: MULTICALL3_ADDRESS, calldata: '00000000', isRequired: true };
/** `Error("Multicall3: call failed")`, which Multicall3 reverts with at a required call that
 * failed. */
const REQUIRED_CALL_FAILED = `08c379a0${word('20')}${word('17')}${'4d756c746963616c6c333a2063616c6c206661696c6564'.padEnd(WORD_DIGITS, '0')}`;

/**
 * Two calls that succeed only where 2 million gas or more are left, and take almost no time. The
 * first one burns all gas but a 64th. The second one needs 35 000 of that: Multicall3 calls itself,
 * and ends with a call that must fail, whose reason is the answer; used-up gas leaves no reason. A
 * call that used up nearly all of a gas cap of 50 million leaves at most 1.6 million: a 64th, and
 * what a contract that goes on after it keeps.
 */
const GAS_GAUGE: readonly Aggregated[] = [
  BURN,
  {
    target: MULTICALL3_ADDRESS,
    calldata: encodeAggregate3([
      [RECOVER, 9],
      [FAILING, 1],
    ]).slice(2),
  },
];
/** Groups of one shared call that are halved, and contracts that are asked for ERC165; further ones
 * are read again apart. */
const HALVED_GROUPS_MAX = 8;
const PROVING_CALLS_MAX = 8;

/** Whether an answer of `eth_getCode` is the code of Multicall3. */
export const isMulticall3 = (code: unknown): boolean => hashOfCode(code) === MULTICALL3_CODE_HASH;

type Options = Pick<Capabilities, 'pin' | 'source' | 'hasHistory'> & {
  readonly isIsolated: boolean;
  readonly identify: IdentifyState;
};

/**
 * Reads contracts that are known to have code through Multicall3, for endpoints that allow no state
 * override: one `eth_call` per contract, and the block proved by the same call. Multicall3 has no
 * stipend: the calls of a group share the gas, and each group ends with a gauge. If it shows that
 * little was left, nothing in the group counts: it is halved once, then its reads are suspects. If
 * enough was left, a call that failed has reverted. Without reads, one call proves the block.
 *
 * @throws RpcFailure `block-mismatch` where another block answered, `block-hash-mismatch` if only
 *   the hash of its parent is another one; else as the endpoint fails
 */
export async function readByMulticall3(
  endpoint: Callable,
  block: Block,
  reads: readonly Read[],
  options: Options,
  signal: AbortSignal,
): Promise<Answered> {
  let hasState = true;
  const call: CallApart = (groups) =>
    aggregate(endpoint, block, groups, options, signal, (isIdentified) => {
      hasState &&= isIdentified;
    });
  if (!options.isIsolated) return { readings: await readTogether(call, reads), hasState };
  const explain = async (read: Read) => {
    const [reading] = await readByPlainCalls(endpoint, block, [read], options.pin, signal);
    return reading ?? failed('call-reverted');
  };
  return { readings: await Promise.all(reads.map((read) => readIsolated(call, explain, read))), hasState };
}

/** Makes an `eth_call` for each group: no group sees the writes of another. */
type CallApart = (groups: readonly (readonly Aggregated[])[]) => Promise<GroupAnswer[]>;
/** The answers to the calls of a group; the failure of its `eth_call` if a contract may have caused
 * it. */
type GroupAnswer = readonly AggregatedAnswer[] | RpcFailure;

async function readTogether(
  call: CallApart,
  reads: readonly Read[],
): Promise<(Reading | Suspect | undefined)[]> {
  const groups = groupReads(reads);
  const byRead = new Map<Read, Reading | Suspect>();
  const disowned: Read[][] = [];
  /** Reads groups; returns those whose calls left too little gas to believe their answers. */
  const readGroups = async (some: readonly (readonly Read[])[]) => {
    const answers = await call(some.map((group) => [...group.map(aggregatedOf), ...GAS_GAUGE]));
    const exhausted: (readonly Read[])[] = [];
    for (const [index, group] of some.entries()) {
      const answered = answers[index];
      const sound = isGauged(answered) ? answered : undefined;
      if (sound === undefined) exhausted.push(group);
      const failing: Read[] = [];
      for (const [place, read] of group.entries()) {
        const answer = sound?.[place];
        const reading = answer && (readingOf(read, answer) ?? revertOf(read, answer));
        byRead.set(read, reading ?? PERHAPS_OUT_OF_GAS);
        if (answer?.success === false && read.kind === 'owner' && reading) failing.push(read);
      }
      if (failing.length > 0) disowned.push(failing);
    }
    return exhausted;
  };
  if (groups.length === 0) {
    const [answered] = await call([[]]);
    if (answered instanceof RpcFailure) throw answered;
  }
  const exhausted = await readGroups(groups);
  const halves = exhausted
    .filter(({ length }) => length > 1)
    .slice(0, HALVED_GROUPS_MAX)
    .flatMap((group) => [group.slice(0, group.length >> 1), group.slice(group.length >> 1)]);
  await readGroups(halves);
  const prove = async (group: readonly Read[], index: number) => {
    const contract = group[0]?.contract ?? '';
    const isErc721 = index < PROVING_CALLS_MAX ? await proveErc721(call, contract, isFatal) : undefined;
    for (const read of group) byRead.set(read, disownedAs(isErc721) ?? PERHAPS_OUT_OF_GAS);
  };
  await Promise.all(disowned.map(prove));
  return reads.map((read) => byRead.get(read));
}

/** Whether enough gas was left behind the calls of a group. */
function isGauged(answered: GroupAnswer | undefined): answered is readonly AggregatedAnswer[] {
  if (answered === undefined || answered instanceof RpcFailure) return false;
  const [burned, gauge] = answered.slice(-GAS_GAUGE.length);
  return burned?.success === false && gauge?.success === false && gauge.data === REQUIRED_CALL_FAILED;
}

/** The reading of a call that failed although it had enough gas; none of an `ownerOf` that failed by
 * an assertion, which is treated like used-up gas. */
function revertOf({ kind }: Read, { data }: AggregatedAnswer): Reading | undefined {
  if (kind === 'owner' && isAssertion(data)) return undefined;
  return kind === 'call' && data !== '' ? DECIDING_REVERT : failed('call-reverted');
}

/** The reading of an id whose `ownerOf` reverted; nothing if it is unknown whether the contract is
 * an ERC721. */
const disownedAs = (isErc721: boolean | undefined): Reading | undefined =>
  isErc721 === undefined ? undefined : isErc721 ? NOT_OWNED : DECIDING_REVERT;

/** Failures that end a shared call whose other readings are known: they are not wanted any more, or
 * of another block. */
const isFatal = (kind: FailureKind): boolean =>
  kind === 'abandoned' || kind === 'block-mismatch' || kind === 'block-hash-mismatch';

/**
 * The reads that may share a call. Multicall3 makes no static calls, so a read sees what the reads
 * before it wrote: a hostile contract could send tokens away before their balance is read. In a
 * separate call a contract can falsify only its own answers. A function that a client named may
 * write, so it shares a call only with calls of the same function.
 */
const groupReads = (reads: readonly Read[]): Read[][] => [...Map.groupBy(reads, calleeOf).values()];

/**
 * One read by a separate call, in which it is made twice: a call that uses up all its gas leaves a
 * 64th, which may be enough for the gauge, but not for the call again. If it fails, a plain call
 * shows the cause: it has the most gas, and its node distinguishes a revert from used-up gas.
 * Behind a proxy used-up gas looks like a revert too, so the gauge counts.
 */
async function readIsolated(
  call: CallApart,
  explain: (read: Read) => Promise<Reading>,
  read: Read,
): Promise<Reading> {
  const [answered] = await call([[aggregatedOf(read), aggregatedOf(read), ...GAS_GAUGE]]);
  const isSound = isGauged(answered);
  const [once, again] = answered === undefined || answered instanceof RpcFailure ? [] : answered;
  const reading = readingOf(read, once);
  if (reading !== undefined) return isSound && readingOf(read, again) ? reading : failed('gas-exhausted');
  const explained = await explain(read);
  if (!explained.ok && explained.code !== 'call-reverted') return explained;
  if (once === undefined) return failed('gas-exhausted');
  // Its answer depends on the caller, so another way of reading would get a different one.
  if (explained.ok && (explained.value !== 0n || read.kind === 'call')) return failed('call-reverted');
  if (!isSound || again?.success !== false) return failed('gas-exhausted');
  const reverted = revertOf(read, once);
  if (read.kind !== 'owner' || reverted === undefined) return reverted ?? failed('gas-exhausted');
  const isOfEndpoint = (kind: FailureKind) => kind !== 'timeout';
  return disownedAs(await proveErc721(call, read.contract, isOfEndpoint)) ?? failed('gas-exhausted');
}

/**
 * Whether a contract says by ERC165 that it is an ERC721; `undefined` if it is not known, because
 * the call failed or left too little gas.
 *
 * @param isThrown whether a failure of the call is thrown
 */
async function proveErc721(
  call: CallApart,
  contract: string,
  isThrown: (kind: FailureKind) => boolean,
): Promise<boolean | undefined> {
  const proofs = ERC721_PROOFS.map((calldata) => ({ target: contract, calldata }));
  const [answered] = await call([[...proofs, ...GAS_GAUGE]]).catch((error: unknown) => {
    if (isThrown(toRpcFailure(error).kind)) throw error;
    return [];
  });
  if (!isGauged(answered)) return undefined;
  return answered.slice(0, proofs.length).some(isTrue);
}

async function aggregate(
  endpoint: Callable,
  block: Block,
  groups: readonly (readonly Aggregated[])[],
  { pin, source, identify, hasHistory }: Options,
  signal: AbortSignal,
  onState: (isIdentified: boolean) => void,
): Promise<GroupAnswer[]> {
  const proofs = [...contextCalls(block, source), ...(hasHistory ? historyCalls(block) : [])];
  const requests = groups.map((calls) => {
    const data = encodeAggregate3([...proofs, ...calls].map((call) => [call, 1]));
    return {
      method: 'eth_call',
      params: `[{"to":"${MULTICALL3_ADDRESS}","data":"${data}"},${blockParameter(block, pin)}]`,
    };
  });
  return callEach(endpoint, requests, signal, (outcome, index) => {
    if (!outcome.ok) {
      if (!isAbout(outcome.failure.kind, 'contract')) throw outcome.failure;
      return outcome.failure;
    }
    const answers = decodeAggregate3(outcome.result, (groups[index] ?? []).length + proofs.length);
    if (answers === undefined) throw new RpcFailure('malformed');
    verifyAggregated(answers, block);
    onState(identify(block, hasHistory ? keptOf(answers) : NOTHING_KEPT));
    return answers.slice(proofs.length);
  });
}

const contextCalls = (block: Block, source: BlockSource): Aggregated[] =>
  source === 'evm'
    ? [BLOCK_NUMBER, LAST_BLOCK_HASH].map((calldata) => ({ target: MULTICALL3_ADDRESS, calldata }))
    : [ARB_BLOCK_NUMBER, ARB_BLOCK_HASH + numberWord(block.number - 1)].map((calldata) => ({
        target: ARBSYS_ADDRESS,
        calldata,
      }));

/** What the state keeps for the parent, and in the slot that the next block overwrites. */
const historyCalls = (block: Block): Aggregated[] =>
  [block.number - 1, block.number - HISTORY_BLOCKS].map((number) => ({
    target: HISTORY_ADDRESS,
    calldata: numberWord(number),
  }));

/** A negative number as the EVM has it. */
const numberWord = (value: number): string => word(BigInt.asUintN(256, BigInt(value)).toString(16));

function keptOf([, , parent, overwritten]: readonly AggregatedAnswer[]): KeptPair {
  const hashOf = (answer: AggregatedAnswer | undefined) =>
    answer?.success === true && answer.data.length === WORD_DIGITS
      ? `0x${answer.data.toLowerCase()}`
      : NO_HASH;
  return { parent: hashOf(parent), overwritten: hashOf(overwritten) };
}

function aggregatedOf(read: Read): Aggregated {
  const calldata = calldataOf(read);
  if (calldata !== undefined) return { target: read.contract, calldata };
  const own = read.kind === 'time' ? BLOCK_TIME : NATIVE_BALANCE + word(read.account.slice(2));
  return { target: MULTICALL3_ADDRESS, calldata: own };
}

function verifyAggregated([number, parentHash]: readonly AggregatedAnswer[], block: Block): void {
  if (number?.data.length !== WORD_DIGITS) throw new RpcFailure('block-mismatch');
  const ranAt = {
    blockNumber: BigInt(`0x${number.data}`),
    parentHash: `0x${parentHash?.data.toLowerCase()}`,
  };
  verifyBlock(ranAt, block);
}

/** The answer of a successful call; nothing for a failed one. */
const readingOf = (read: Read, answer: AggregatedAnswer | undefined): Reading | undefined =>
  answer?.success ? readReturned(read, answer.data) : undefined;

const isTrue = (answer: AggregatedAnswer | undefined): boolean =>
  answer?.success === true && answer.data.length === WORD_DIGITS && BigInt(`0x${answer.data}`) === 1n;
