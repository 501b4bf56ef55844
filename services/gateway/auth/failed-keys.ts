import { LRUCache } from 'lru-cache';
import { addressKey } from '#shared/http/client-address.ts';

/** Failed keys that one address (an IPv6 network) may send in any second before it gets 429. */
const FAILED_KEYS_PER_SECOND_MAX = 20;
const ADDRESSES_MAX = 10_000;
const WINDOW_MS = 1_000;

/**
 * The budget of failed keys per address, in this process. It bounds guessing and its cost; a valid
 * key is never refused because of it.
 *
 * @param now any clock in ms that does not go back.
 * @returns counts one failure and tells whether it is still within the budget.
 * @example
 * const mayFail = makeFailedKeyBudget(() => performance.now());
 * mayFail('192.0.2.1'); // true, twenty times a second
 */
export function makeFailedKeyBudget(now: () => number): (address: string) => boolean {
  const failures = new LRUCache<string, number[]>({ max: ADDRESSES_MAX });
  return (address) => {
    const nowMs = now();
    const key = addressKey(address);
    const recent = (failures.get(key) ?? []).filter((at) => at > nowMs - WINDOW_MS);
    const isWithin = recent.length < FAILED_KEYS_PER_SECOND_MAX;
    if (isWithin) recent.push(nowMs);
    failures.set(key, recent);
    return isWithin;
  };
}
