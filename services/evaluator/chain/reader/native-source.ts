import { LRUCache } from 'lru-cache';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { Read, Reading } from '../../domain/read.ts';
import type { BatchReadings } from './readings.ts';

/** Endpoints remembered at a time: more than a chain has. */
const ENDPOINTS_MAX = 100;
const TTL_MS = HOUR_MS;

/**
 * Which endpoints count native coins in the EVM in another unit than `eth_getBalance` does: Hedera's EVM has 8 decimals,
 * its RPC 18. The first balance above 0 that is read is compared; where the two differ, `eth_getBalance` counts.
 */
export class NativeSource {
  readonly #isOther: LRUCache<string, boolean>;

  /** @param monotonicMs monotonic clock */
  constructor(monotonicMs: () => number) {
    this.#isOther = new LRUCache({ max: ENDPOINTS_MAX, ttl: TTL_MS, perf: { now: monotonicMs } });
  }

  /**
   * Whether the endpoint's native balances must be read by `eth_getBalance`.
   *
   * @param readPlainly reads by `eth_getBalance`
   * @throws RpcFailure
   */
  async isOther(
    endpointName: string,
    reads: readonly Read[],
    readings: BatchReadings,
    readPlainly: (reads: readonly Read[]) => Promise<readonly Reading[]>,
  ): Promise<boolean> {
    const known = this.#isOther.get(endpointName);
    if (known !== undefined) return known;
    const amountOf = (reading: BatchReadings[number]) =>
      reading !== undefined && 'ok' in reading && reading.ok ? reading.value : 0n;
    const index = reads.findIndex(({ kind }, at) => kind === 'native' && amountOf(readings[at]) > 0n);
    const read = reads[index];
    if (read === undefined) return false;
    const [plain] = await readPlainly([read]);
    if (!plain?.ok) return false;
    const isOther = plain.value !== amountOf(readings[index]);
    this.#isOther.set(endpointName, isOther);
    return isOther;
  }
}
