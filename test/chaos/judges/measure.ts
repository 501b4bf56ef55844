import { formatNumber } from '../../support/figures/format-number.ts';
import { p99 } from '../../support/figures/quantile.ts';
import type { Attempt } from '../../support/judges/ledger.ts';

/** A measured number of the matrix with its goal. It is printed, and does not fail a run. */
export type Figure = {
  readonly what: string;
  readonly measured: string;
  readonly goal: string;
  readonly met: boolean;
};

/** From one instant to another, epoch ms. */
export type Span = { readonly fromMs: number; readonly toMs: number };

/** The attempts that began in a span. */
export const begunIn = (attempts: readonly Attempt[], { fromMs, toMs }: Span): Attempt[] =>
  attempts.filter(({ startedAt }) => startedAt >= fromMs && startedAt < toMs);

/** How long clients waited for results, polled or answered. */
export const resultTimes = (attempts: readonly Attempt[]): number[] =>
  attempts.flatMap(({ resultMs }) => (resultMs === undefined ? [] : [resultMs]));

/**
 * A figure with an upper bound.
 *
 * @example
 * atMost('202 p99', 31.4, 50, 'ms'); // { measured: '31.4 ms', goal: '≤ 50 ms', met: true, … }
 */
export const atMost = (what: string, measured: number, bound: number, unit = ''): Figure => ({
  what,
  measured: withUnit(measured, unit),
  goal: `≤ ${withUnit(bound, unit)}`,
  met: measured <= bound,
});

export const atLeast = (what: string, measured: number, bound: number, unit = ''): Figure => ({
  what,
  measured: withUnit(measured, unit),
  goal: `≥ ${withUnit(bound, unit)}`,
  met: measured >= bound,
});

/** The p99 of a duration during a fault, compared with that of the same run without one. */
export function timesBaseline(
  what: string,
  underFault: readonly number[],
  baseline: readonly number[],
  bound: number,
): Figure {
  const [faultMs, baselineMs] = [p99(underFault), p99(baseline)];
  const ratio = baselineMs > 0 ? faultMs / baselineMs : Number.POSITIVE_INFINITY;
  const measured = `${formatNumber(ratio)} × (${formatNumber(faultMs)} ms against ${formatNumber(baselineMs)} ms)`;
  return { what, measured, goal: `≤ ${bound} ×`, met: ratio <= bound };
}

const withUnit = (value: number, unit: string): string => `${formatNumber(value)}${unit && ` ${unit}`}`;
