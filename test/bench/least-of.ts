/** How often what is noisy is measured. */
const ROUNDS = 3;

/** Measures three times, one after another. */
export async function inRounds<T>(measure: () => Promise<T>): Promise<T[]> {
  const rounds: T[] = [];
  while (rounds.length < ROUNDS) rounds.push(await measure());
  return rounds;
}

/**
 * What cost least: whatever else the machine does only ever adds. Two sides that are compared are measured in the same
 * rounds, so that both have the same chance.
 *
 * @example
 * leastOf(await inRounds(() => completeChecks(bench, options)), cpuOf);
 */
export const leastOf = <T>(runs: readonly T[], costOf: (run: T) => number): T =>
  runs.reduce((least, run) => (costOf(run) < costOf(least) ? run : least));
