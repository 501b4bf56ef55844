import { type BatchPartRequested, checkRequestedBatch } from '#shared/contracts/batches/batch.ts';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { AdmittedAt } from '#shared/stores/replay/restore-admission.ts';
import type { AppHour } from '#shared/stores/usage/usage.ts';

/** Most ids remembered to count a check once that is in a lane twice; beyond it a duplicate may
 * count twice. */
const IDS_MAX = 2_000_000;

type ChargedHour = AppHour & { readonly month: string; readonly times: readonly AdmittedAt[] };

/** Gathers the charged checks of the lanes' tails, each once: by client app and hour, when they
 * were accepted. */
export class TailCount {
  readonly #counted = new Set<string>();
  readonly #hours = new Map<string, { appHour: AppHour; month: string; times: Map<number, number> }>();

  add(check: CheckRequested): void {
    this.#add(check, check.requestId, 1);
  }

  /**
   * Each entry of the part is a check. Those of a watch are not counted: the gateway did not accept
   * them, so nothing tells which of them a Redis has counted. Few are lost: those of the last
   * second before a failover.
   */
  addPart(part: BatchPartRequested): void {
    if (part.delivery.mode === 'watch') return;
    this.#add(part, checkRequestedBatch.keyOf(part), part.entries.length);
  }

  #add(
    { clientId, chargedMonth, acceptedAt }: Pick<CheckRequested, 'clientId' | 'chargedMonth' | 'acceptedAt'>,
    id: string,
    count: number,
  ): void {
    if (chargedMonth === undefined || this.#counted.has(id)) return;
    if (this.#counted.size < IDS_MAX) this.#counted.add(id);
    const ms = Date.parse(acceptedAt);
    const hour = Math.floor(ms / HOUR_MS);
    const key = `${clientId} ${hour} ${chargedMonth}`;
    const known = this.#hours.get(key);
    const { times } = known ?? { times: new Map<number, number>() };
    if (!known) this.#hours.set(key, { appHour: { clientId, hour }, month: chargedMonth, times });
    times.set(ms, (times.get(ms) ?? 0) + count);
  }

  hours(): ChargedHour[] {
    return [...this.#hours.values()].map(({ appHour, month, times }) => ({
      ...appHour,
      month,
      times: [...times].sort(([a], [b]) => a - b).map(([ms, count]) => ({ ms, count })),
    }));
  }
}

/**
 * How many of an hour's checks a Redis has not counted: those behind the last millisecond that it
 * knows, and of that millisecond those above the number that it knows. An app's checks are accepted
 * in the order of their times.
 *
 * @param chargedUntilMs everything that was accepted until then is counted
 */
export function countLost(
  times: readonly AdmittedAt[],
  before: AdmittedAt | undefined,
  chargedUntilMs: number,
): { readonly count: number; readonly last: AdmittedAt } | undefined {
  const known = before ?? { ms: 0, count: 0 };
  const lost = times
    .filter(({ ms }) => ms >= known.ms && ms > chargedUntilMs)
    .map(({ ms, count }) => ({ ms, count: ms === known.ms ? Math.max(0, count - known.count) : count }));
  const count = lost.reduce((sum, one) => sum + one.count, 0);
  const last = times.at(-1);
  return count === 0 || last === undefined ? undefined : { count, last };
}
