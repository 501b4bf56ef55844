import assert from 'node:assert/strict';
import { monthCounterKey } from '#shared/stores/checks/admit.ts';
import { openSystem } from '../../services/developer-portal/admin/open-system.ts';
import { examineKeys, examinePortal, examineQuota } from './examine-apps.ts';
import {
  examineBacklog,
  examineDeadLetters,
  examineDeliveries,
  examineIdempotency,
  examineRetries,
} from './examine-checks.ts';
import { pollCheck } from './fill-checks.ts';
import { activeApps, type Scene } from './scene.ts';

/** Looks for everything that the earlier version held, in a system of this version on its data. */
export async function examineSystem(given: Omit<Scene, 'open'>): Promise<void> {
  await using open = await openSystem(given.system.environment());
  const scene = { ...given, open };
  await examineUsage(scene, 'after the upgrade');
  await examineResults(scene, 'after the upgrade');
  await examineKeys(scene);
  await examineBacklog(scene);
  await examineDeadLetters(scene);
  await examineRetries(scene);
  await examineDeliveries(scene);
  await examineIdempotency(scene);
  await examinePortal(scene);
  await examineQuota(scene);
  await scene.tally.check('the views are rebuilt from the topics of the earlier version', async () =>
    assert.equal((await scene.system.admin('store', 'rebuild')).exitCode, 0),
  );
  await examineUsage(scene, 'after a rebuild');
  await examineResults(scene, 'after a rebuild');
}

/** The month's counters, which every gateway charges. */
async function examineUsage({ apps, open, tally }: Scene, when: string): Promise<void> {
  const month = new Date(open.clock.now()).toISOString().slice(0, 'YYYY-MM'.length);
  for (const { name, clientId, used } of activeApps(apps))
    await tally.check(`the month of ${name} counts ${used} checks ${when}`, async () =>
      assert.equal(Number(await open.redis.get(monthCounterKey(clientId, month))), used),
    );
}

async function examineResults({ checks, tally }: Scene, when: string): Promise<void> {
  const known = [...checks.finished, ...checks.retrying, ...checks.stopped, ...checks.failed];
  for (const { app, mode, requestId, text } of known)
    await tally.check(`the result of ${app.name}'s ${mode} check is the same bytes ${when}`, async () => {
      const answer = await pollCheck(app, requestId);
      assert.equal(answer.status, 200);
      assert.equal(answer.text, text);
    });
}
