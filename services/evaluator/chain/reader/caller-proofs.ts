import { LRUCache } from 'lru-cache';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { failed, REVERTED_WITH_DATA, type Read, type Reading } from '../../domain/read.ts';
import { mayBeContractFault, toRpcFailure } from '../rpc/rpc-failure.ts';
import { type BatchReadings, NOT_OWNED, NOTHING, PERHAPS_FOR_CONTRACTS } from './readings.ts';

/** Contracts remembered at a time; the least recently used is evicted first. */
const CONTRACTS_MAX = 20_000;
/** A contract behind a proxy may be replaced. */
const TTL_MS = HOUR_MS;
const SELECTOR_DIGITS = 8;

/** Makes a read by a plain call, whose caller has no code. @throws RpcFailure */
type ReadPlainly = (read: Read) => Promise<Reading | undefined>;

/**
 * Confirms reverts that decide a rule: the reader and Multicall3 are contracts, and a function may revert for those alone
 * (`require(msg.sender == tx.origin)`). One plain call shows whether it does. Its outcome is remembered for each
 * endpoint and contract, and for each function that a client names.
 */
export class CallerProofs {
  /** Whether the contract reverts for a caller without code too. */
  readonly #isSame: LRUCache<string, boolean>;

  /** @param monotonicMs monotonic clock */
  constructor(monotonicMs: () => number) {
    this.#isSame = new LRUCache({ max: CONTRACTS_MAX, ttl: TTL_MS, perf: { now: monotonicMs } });
  }

  /**
   * Returns the readings, of which each revert that decides a rule is confirmed, contradicted or, if no plain call may be
   * made, suspected.
   *
   * @throws RpcFailure
   */
  async settle(
    endpointName: string,
    reads: readonly Read[],
    readings: BatchReadings,
    readPlainly: ReadPlainly | undefined,
  ): Promise<BatchReadings> {
    const keyOf = ({ contract, call }: Read) =>
      `${endpointName}/${contract}/${call?.calldata.slice(0, SELECTOR_DIGITS) ?? ''}`;
    const isDeciding = (index: number) =>
      readings[index] === NOT_OWNED || readings[index] === REVERTED_WITH_DATA;
    const unknown = new Map<string, Read>();
    for (const [index, read] of reads.entries())
      if (isDeciding(index) && !this.#isSame.has(keyOf(read))) unknown.set(keyOf(read), read);
    const unread = new Map<string, Reading>();
    const ask = async ([key, read]: readonly [string, Read]) => {
      const plain = await readPlainly?.(read).catch(toReading);
      if (plain === undefined) return;
      if (!plain.ok && plain.code !== 'call-reverted') unread.set(key, plain);
      else this.#isSame.set(key, !plain.ok || (read.kind === 'owner' && plain.value === 0n));
    };
    await Promise.all([...unknown].map(ask));
    return readings.map((reading, index) => {
      const read = reads[index];
      if (read === undefined || !isDeciding(index)) return reading;
      const isSame = this.#isSame.get(keyOf(read));
      if (isSame === undefined) return unread.get(keyOf(read)) ?? PERHAPS_FOR_CONTRACTS;
      if (!isSame) return failed('call-reverted');
      return reading === NOT_OWNED ? NOTHING : reading;
    });
  }
}

/** What a call shows that failed as a whole because of its contract. */
function toReading(error: unknown): Reading {
  const { kind, reading } = toRpcFailure(error);
  if (!mayBeContractFault(kind)) throw error;
  // It reverts with more than an endpoint or this service takes.
  return kind === 'endless' ? failed('call-reverted') : reading;
}
