import { createHash } from 'node:crypto';

/** Chooses as a seed says, so that a run can be had again. */
export type Random = {
  /** A whole number from 0 to below `count`. */
  readonly below: (count: number) => number;
};

/** @example makeRandom(7).below(3); // the same with every run */
export function makeRandom(seed: number): Random {
  let drawn = 0;
  return {
    below: (count) => createHash('sha256').update(`${seed}/${drawn++}`).digest().readUInt32BE() % count,
  };
}
