import type { Judge } from './breaker.ts';

/** `strikes` absent: the call succeeded. 0: it failed, which proves nothing. */
export type Strike<Kind extends string> = { readonly kind: Kind; readonly strikes?: number };

/**
 * Strikes in a row, counted by kind of call, so that an endpoint which serves heads and fails all
 * calls for balances is found out: the success of one kind neither resets the strikes of another
 * nor closes a breaker that another has opened.
 *
 * @example
 * const judge = strikesInARow(6);
 * judge.opens({ kind: 'head', strikes: 6 }); // true
 */
export function strikesInARow<Kind extends string>(
  strikesMax: number,
): Judge<Strike<Kind>> & { readonly mostStrikes: () => number } {
  const counts = new Map<Kind, number>();
  /** The kind of call that opened it. */
  let cause: Kind | undefined;
  return {
    opens({ kind, strikes }) {
      const count = strikes === undefined ? 0 : (counts.get(kind) ?? 0) + strikes;
      counts.set(kind, count);
      if (!strikes || count < strikesMax) return false;
      cause = kind;
      return true;
    },
    probed({ kind, strikes }) {
      if (strikes === undefined) return kind === cause ? 'recovered' : undefined;
      return strikes > 0 ? 'failing' : undefined;
    },
    mostStrikes: () => Math.max(0, ...counts.values()),
  };
}
