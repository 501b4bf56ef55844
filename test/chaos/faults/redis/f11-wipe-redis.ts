import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { lagOf } from '../../judges/lag-of.ts';
import { atMost } from '../../judges/measure.ts';
import { judgeAway } from '../../judges/watch-away.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';

const RESULTS = 100_000;
const BATCH = 1_000;
const SEED_TIMEOUT_MS = 180_000;
const REBUILD_TIMEOUT_MS = 180_000;
/** Results that are in Redis already count as saved. */
const CAUGHT_UP_LAG = 100;

/** Makes the system unusable for other rows, because every later rebuild would have as much to
 * do. */
export const f11WipeRedis: Fault = {
  id: 'F11',
  title: 'Redis wiped',
  signsIn: true,
  isDestructive: true,
  before: seedResults,
  async run({ system, ledger, seconds, rest }) {
    const { redis, views } = system.open;
    const fromMs = Date.now();
    await redis.flushall('ASYNC');
    // The system may be open from any instant after the last look that found it closed.
    let closedAtMs = fromMs;
    const areComplete = async () => {
      const beganMs = Date.now();
      const state = await views.readState().catch(() => undefined);
      if (state === 'missing') closedAtMs = beganMs;
      return state === 'complete';
    };
    await waitUntil('the views', areComplete, REBUILD_TIMEOUT_MS);
    const backMs = Date.now() - fromMs;
    const away = { fromMs, toMs: closedAtMs };
    await rest(seconds * 500);
    return () => ({
      figures: [atMost(`${RESULTS} results back`, backMs / 1_000, 60, 's')],
      broken: judgeAway(ledger.attempts, away),
    });
  },
};

/** Publishes results of earlier checks, as the evaluators do. */
async function seedResults(system: ChaosSystem): Promise<void> {
  const { open } = system;
  const at = new Date(open.clock.now()).toISOString();
  const retainUntil = new Date(open.clock.now() + 3_600_000).toISOString();
  for (let first = 0; first < RESULTS; first += BATCH)
    await Promise.all(
      Array.from({ length: BATCH }, (_, i) => {
        const requestId = `seeded-${first + i}`;
        const roles = [0, 1, 2].map((rule) => ({ id: `${requestId}#${rule}`, granted: true }));
        const result = { requestId, status: 'completed', roles, errors: [], evaluatedAt: at, blocks: {} };
        return open.kafka.publish(checkCompleted, {
          ...{
            requestId,
            clientId: 'app_seeded',
            accountId: 'acc_seeded',
            keyId: 'key_seeded',
            request: { partition: 0, offset: 0 },
            mode: 'poll',
            acceptedAt: at,
            retainUntil,
          },
          decided: true,
          resultJson: JSON.stringify(result),
        });
      }),
    );
  const isSaved = async () =>
    (await lagOf(system, CONSUMER_GROUPS.results, checkCompleted.name)) < CAUGHT_UP_LAG;
  await waitUntil('the seeded results to be saved', isSaved, SEED_TIMEOUT_MS);
}
