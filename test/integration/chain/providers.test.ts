import { PROFILES } from '../../providers/all-profiles.ts';
import { runProfiles, startStages } from '../../providers/run-profiles.ts';
import { brokenOf, formatRows } from '../../providers/table.ts';

// Scenario: providers as they are, in front of real chains, serve the evaluator's chain layer and log follower, alone and
// beside a healthy endpoint. Watched tokens move, ordinary clients check, and then a hostile client checks too.

/** Shorter than those of real chains, so that enough blocks come within the run. */
const BLOCK_MS_MAX = 3_000;
const TIMES = {
  warmUpMs: 4_000,
  phaseMs: 6_000,
  drainMsMax: 30_000,
  ordinaryEveryMs: 500,
  hostileEveryMs: 200,
};
/** Judged by the whole form alone: so few seconds hold few calls. */
const NOT_JUDGED = 'too many calls';

test('a provider loses no transfer, gives no wrong verdict, and lets no client make the checks of another fail', async () => {
  await using scope = new AsyncDisposableStack();
  const stages = await startStages(scope, PROFILES, (ms) => Math.min(ms, BLOCK_MS_MAX));
  const rows = await runProfiles(PROFILES, { stages, quorum: 1, times: TIMES });
  process.stdout.write(`${formatRows(rows)}\n`);
  const broken = rows.flatMap((row) => {
    const { name } = row.profile;
    const judged = brokenOf(row).filter((found) => !found.startsWith(`${NOT_JUDGED}:`));
    return judged.map((found) => `${name}: ${found}`);
  });
  expect(broken).toEqual([]);
});
