import { createHash } from 'node:crypto';

/** A seeded random generator, so that a run can be repeated. */
export type Random = {
  /** A whole number from 0 to below `count`. */
  readonly below: (count: number) => number;
};

/** @example makeRandom(7).below(3); // the same on every run */
export function makeRandom(seed: number): Random {
  let drawn = 0;
  return {
    below: (count) => createHash('sha256').update(`${seed}/${drawn++}`).digest().readUInt32BE() % count,
  };
}
