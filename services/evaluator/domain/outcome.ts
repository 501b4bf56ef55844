import type { ComposedCondition } from '#shared/contracts/rules/rule.ts';

/** How a rule ends. Undetermined: granted or denied, but not known which. */
export type Outcome = 'granted' | 'denied' | 'undetermined';

const count = (outcomes: readonly Outcome[], wanted: Outcome): number =>
  outcomes.reduce((sum, outcome) => (outcome === wanted ? sum + 1 : sum), 0);

/** Granted if at least `min` are; denied if too few could be, however the undetermined ones turn
 * out. */
function atLeast(min: number, outcomes: readonly Outcome[]): Outcome {
  const granted = count(outcomes, 'granted');
  if (granted >= min) return 'granted';
  return granted + count(outcomes, 'undetermined') < min ? 'denied' : 'undetermined';
}

export const allOf = (outcomes: readonly Outcome[]): Outcome => atLeast(outcomes.length, outcomes);
export const anyOf = (outcomes: readonly Outcome[]): Outcome => atLeast(1, outcomes);

const OPPOSITES = { granted: 'denied', denied: 'granted', undetermined: 'undetermined' } as const;
export const not = (outcome: Outcome): Outcome => OPPOSITES[outcome];

/**
 * The outcome of a composed rule, by the table in `services/gateway/docs/pages/rules.md`.
 *
 * @example
 * compose({ type: 'ALL' }, ['granted', 'undetermined']); // 'undetermined'
 */
export function compose(
  { type, atLeast: min = 1 }: Pick<ComposedCondition, 'type' | 'atLeast'>,
  outcomes: readonly Outcome[],
): Outcome {
  switch (type) {
    case 'ALL':
      return allOf(outcomes);
    case 'ANY':
      return anyOf(outcomes);
    case 'NONE':
      return not(anyOf(outcomes));
    case 'AT_LEAST':
      return atLeast(min, outcomes);
  }
}
