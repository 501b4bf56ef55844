/** How often a noisy figure is measured. */
const ROUNDS = 3;

/** Measures three times, one after another. */
export async function inRounds<T>(measure: () => Promise<T>): Promise<T[]> {
  const rounds: T[] = [];
  while (rounds.length < ROUNDS) rounds.push(await measure());
  return rounds;
}

/**
 * The lowest of several measurements: other work of the machine only ever adds to a cost. Two
 * compared sides are measured in the same rounds, so that both have the same conditions.
 *
 * @example
 * leastOf(await inRounds(() => completeChecks(bench, options)), cpuOf);
 */
export const leastOf = <T>(runs: readonly T[], costOf: (run: T) => number): T =>
  runs.reduce((least, run) => (costOf(run) < costOf(least) ? run : least));
