/** A seeded random generator, so that a failing run can be repeated. */
export type Random = {
  /** From 0 to below 1. */
  readonly fraction: () => number;
  /** A whole number from 0 to below `count`. */
  readonly below: (count: number) => number;
};

/**
 * A linear congruential generator (Numerical Recipes).
 *
 * @example
 * makeRandom(7).below(3); // the same on every run
 */
export function makeRandom(seed: number): Random {
  let state = seed >>> 0;
  const fraction = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return { fraction, below: (count) => Math.floor(fraction() * count) };
}
