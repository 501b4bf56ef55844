import { LRUCache } from 'lru-cache';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import {
  calleeOf,
  DECIDING_REVERT,
  type FailedReading,
  failed,
  isOfContract,
  type Read,
  type Reading,
} from '../../domain/read.ts';
import { type Block, blockParameter } from '../blocks/block.ts';
import type { Callable } from '../endpoints/endpoint.ts';
import type { RpcOutcome } from '../rpc/connect-rpc.ts';
import { isAbout, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { callEach } from './call-each.ts';
import {
  type BatchReadings,
  isValue,
  NOT_OWNED,
  NOTHING,
  PERHAPS_FOR_CONTRACTS,
  PERHAPS_NOT_OWNED,
} from './readings.ts';

/** Codes of one answer, which may be as long as `BODY_BYTES_MAX`: some chains allow 128 KiB. */
const CODES_PER_ARRAY_MAX = 10;
/** Contracts remembered at a time; the least recently used is evicted first. */
const CONTRACTS_MAX = 20_000;
/**
 * How long a contract's code is not checked again. An address that had code is not a precompile,
 * and a contract that lost its code gives an empty answer, which is detected; so this bounds only
 * how long a wrong answer is trusted.
 */
const CODE_TTL_MS = HOUR_MS;

/**
 * Checks which contracts have code, for the read methods that cannot detect it: a precompile has
 * none but still answers (SHA-256 at `0x…02` returns 32 bytes for any input). Only code that was
 * seen is remembered, for the blocks from there on: an earlier block may be from before the
 * deployment. It is remembered separately for each endpoint, so that a quorum never depends on the
 * answer of a single endpoint.
 */
export class CodeProofs {
  /** The number of the lowest block at which the code was seen. */
  readonly #seen = new LRUCache<string, number>({ max: CONTRACTS_MAX, ttl: CODE_TTL_MS });

  /**
   * Returns the contracts of these reads that have no code at the block.
   *
   * @throws RpcFailure
   */
  async findAbsent(
    endpointName: string,
    callable: Callable,
    block: Block,
    reads: readonly Read[],
    pin: 'hash' | 'number',
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const keyOf = (contract: string) => `${endpointName}/${contract}`;
    const isProved = (contract: string) =>
      block.number >= (this.#seen.get(keyOf(contract)) ?? Number.POSITIVE_INFINITY);
    const asked = new Set<string>();
    for (const read of reads) if (isOfContract(read) && !isProved(read.contract)) asked.add(read.contract);
    const at = blockParameter(block, pin);
    const requests = [...asked].map((contract) => ({
      method: 'eth_getCode',
      params: `["${contract}",${at}]`,
    }));
    const codes = await callEach(callable, requests, signal, requireCode, CODES_PER_ARRAY_MAX);
    const absent = new Set<string>();
    for (const [index, contract] of [...asked].entries()) {
      if (codes[index] === '0x') absent.add(contract);
      else this.#seen.set(keyOf(contract), block.number);
    }
    return absent;
  }
}

function requireCode(outcome: RpcOutcome): string {
  if (!outcome.ok) throw outcome.failure;
  const { result } = outcome;
  if (typeof result !== 'string' || !/^0x([0-9a-fA-F]{2})*$/.test(result)) throw new RpcFailure('malformed');
  return result;
}

/** A contract behind a proxy may be replaced. */
const TTL_MS = HOUR_MS;

/** Makes reads by plain calls, whose caller has no code. @throws RpcFailure */
type ReadPlainly = (reads: readonly Read[]) => Promise<readonly Reading[]>;

/** Plain calls at a time: each may use all the gas that the endpoint gives. */
const PLAIN_CALLS_MAX = 8;

/**
 * Confirms reverts that decide a rule: the reader and Multicall3 are contracts, and a function may
 * revert for those alone (`require(msg.sender == tx.origin)`). A function that has answered a
 * contract, whatever the arguments, does not. Otherwise a plain call with the same arguments shows
 * whether it reverts for everybody: with others it would show nothing, because they may be wrong
 * themselves. What a function does to callers with code is remembered for each endpoint.
 */
export class CallerProofs {
  readonly #toContracts = new LRUCache<string, 'answers' | 'refuses'>({ max: CONTRACTS_MAX, ttl: TTL_MS });

  /**
   * Returns the readings, of which each revert that decides a rule is confirmed, contradicted or,
   * if no plain call may be made, suspected.
   *
   * @throws RpcFailure
   */
  async settle(
    endpointName: string,
    reads: readonly Read[],
    readings: BatchReadings,
    readPlainly: ReadPlainly | undefined,
  ): Promise<BatchReadings> {
    const nameOf = (read: Read) => `${endpointName}/${calleeOf(read)}`;
    for (const [index, read] of reads.entries())
      if (hasAnswered(read, readings[index]) && !this.#toContracts.has(nameOf(read)))
        this.#toContracts.set(nameOf(read), 'answers');
    if (!readings.some(isDeciding)) return readings;
    const unknown = new Map<string, Read>();
    for (const [index, read] of reads.entries()) {
      if (!isDeciding(readings[index])) continue;
      const known = this.#toContracts.get(nameOf(read));
      // With little gas, arguments for which it answers show nothing.
      const isKnown = known === 'refuses' || (known === 'answers' && readings[index] !== PERHAPS_NOT_OWNED);
      if (!isKnown) unknown.set(read.key, read);
    }
    const asked = [...unknown.values()].slice(0, PLAIN_CALLS_MAX);
    const plain = asked.length === 0 ? undefined : await readPlainly?.(asked).catch(toReadings(asked));
    const plainByKey = new Map(asked.map((read, index) => [read.key, plain?.[index]]));
    for (const read of asked) {
      const reading = plainByKey.get(read.key);
      if (reading?.ok && !isNobody(read, reading.value)) this.#toContracts.set(nameOf(read), 'refuses');
    }
    return readings.map((reading, index) => {
      const read = reads[index];
      if (read === undefined || !isDeciding(reading)) return reading;
      if (this.#toContracts.get(nameOf(read)) === 'refuses') return failed('call-reverted');
      if (unknown.has(read.key)) {
        const confirming = plainByKey.get(read.key);
        if (confirming === undefined) return PERHAPS_FOR_CONTRACTS;
        const isRevert = confirming.ok || confirming.code === 'call-reverted';
        if (!isRevert || confirming === UNCONFIRMED) return confirming;
      }
      return reading === NOT_OWNED ? NOTHING : DECIDING_REVERT;
    });
  }
}

const isDeciding = (reading: BatchReadings[number]): boolean =>
  reading === NOT_OWNED || reading === DECIDING_REVERT || reading === PERHAPS_NOT_OWNED;

/** Whether a function that may refuse callers with code has answered one. */
const hasAnswered = ({ kind }: Read, reading: BatchReadings[number]): boolean =>
  (kind === 'owner' || kind === 'call') && reading !== NOT_OWNED && isValue(reading);

/** Whether a plain `ownerOf` says that nobody owns the id. */
const isNobody = ({ kind }: Read, value: bigint): boolean => kind === 'owner' && value === 0n;

/** The contract has reverted, and a plain call got an answer without an end, which does not show how
 * that call ended. */
const UNCONFIRMED: FailedReading = Object.freeze({ ok: false, code: 'call-reverted' });

/** What calls show that failed as a whole because of a contract. */
const toReadings =
  (asked: readonly Read[]) =>
  (error: unknown): Reading[] => {
    const { kind, reading } = toRpcFailure(error);
    if (!isAbout(kind, 'contract')) throw error;
    return asked.map(() => (kind === 'endless' ? UNCONFIRMED : reading));
  };

/** Endpoints remembered at a time: more than a chain has. */
const ENDPOINTS_MAX = 100;

/** What an endpoint's native balances are read by; a reading if that is not known. */
type NativeUnit = 'evm' | 'node' | FailedReading;

/**
 * Which endpoints count native coins in the EVM in another unit than `eth_getBalance` does:
 * Hedera's EVM has 8 decimals, its RPC 18. The first balance above 0 that is read is compared;
 * where one is the other by a power of ten, `eth_getBalance` counts. Two amounts that differ in
 * another way decide nothing, and neither does a balance that could not be compared.
 */
export class NativeSource {
  readonly #unitOf = new LRUCache<string, 'evm' | 'node'>({ max: ENDPOINTS_MAX, ttl: TTL_MS });

  /**
   * @param readPlainly reads by `eth_getBalance`
   * @throws RpcFailure if the endpoint does not answer
   */
  async unitOf(
    endpointName: string,
    reads: readonly Read[],
    readings: BatchReadings,
    readPlainly: (reads: readonly Read[]) => Promise<readonly Reading[]>,
  ): Promise<NativeUnit> {
    const known = this.#unitOf.get(endpointName);
    if (known !== undefined) return known;
    const amountOf = (reading: BatchReadings[number]) => (isValue(reading) ? reading.value : 0n);
    const index = reads.findIndex(({ kind }, at) => kind === 'native' && amountOf(readings[at]) > 0n);
    const read = reads[index];
    if (read === undefined) return 'evm';
    const [plain] = await readPlainly([read]).catch((error: unknown) => {
      const { kind, reading } = toRpcFailure(error);
      // Another endpoint is asked, unless this one refuses the method.
      if (!isAbout(kind, 'call')) throw error;
      return [reading];
    });
    if (!plain?.ok) return plain ?? failed('rpc-unavailable');
    const ofEvm = amountOf(readings[index]);
    const unit = plain.value === ofEvm ? 'evm' : 'node';
    if (!isTimesTen(plain.value, ofEvm) && !isTimesTen(ofEvm, plain.value)) return failed('rpc-disagreement');
    this.#unitOf.set(endpointName, unit);
    return unit;
  }
}

/** Whether an amount is the other one, ten times it, a hundred times, and so on. */
function isTimesTen(more: bigint, less: bigint): boolean {
  if (less === 0n) return false;
  let power = less;
  while (power < more) power *= 10n;
  return power === more;
}
