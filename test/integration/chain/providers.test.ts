import { PROFILES } from '../../providers/all-profiles.ts';
import { runProfiles, startStages } from '../../providers/run-profiles.ts';
import { brokenOf, formatRows } from '../../providers/table.ts';

// Scenario: providers as they are, in front of real chains, serve the evaluator's chain layer and
// log follower, alone and beside a healthy endpoint. Watched tokens move, ordinary clients check,
// and then a hostile client checks too.

/** Shorter than those of real chains, so that enough blocks come within the run. */
const BLOCK_MS_MAX = 3_000;
const TIMES = {
  warmUpMs: 4_000,
  phaseMs: 6_000,
  drainMsMax: 30_000,
  ordinaryEveryMs: 500,
  hostileEveryMs: 200,
};
/** By provider, the promises that are not kept every time while a busy machine answers so slowly;
 * the whole form judges them. */
const ALONE = ['failed alone', 'failed through the hostile client'];
const PENDING: Readonly<Record<string, readonly string[]>> = {
  'state of another block': ALONE,
  'BLOCKHASH is a state root': [...ALONE, 'failed beside a healthy endpoint'],
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
    const pending = [NOT_JUDGED, ...(PENDING[name] ?? [])];
    const isPending = (found: string) => pending.some((promise) => found.startsWith(`${promise}:`));
    return brokenOf(row).flatMap((found) => (isPending(found) ? [] : [`${name}: ${found}`]));
  });
  expect(broken).toEqual([]);
});
