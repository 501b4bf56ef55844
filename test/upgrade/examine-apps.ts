import assert from 'node:assert/strict';
import { makeCheckClient } from '../support/systems/check-client.ts';
import { makePortalClient } from '../support/systems/start-portal.ts';
import { waitUntil } from '../support/wait-until.ts';
import { LIMITED_MONTH } from './fill-apps.ts';
import { bodyOf, sendCheck } from './fill-checks.ts';
import { activeApps, assertGranted, type Scene, WAIT_MS_MAX } from './scene.ts';

export async function examineKeys({ system, apps, receivers, tally }: Scene): Promise<void> {
  for (const app of activeApps(apps).filter((one) => one !== apps.limited))
    for (const mode of ['sync', 'webhook'] as const)
      await tally.check(`a ${mode} check of ${app.name} is answered`, async () => {
        const { requestId, text } = await sendCheck(system, app, { mode, url: receivers.healthy.url });
        if (mode === 'sync') return assertGranted(text);
        const { body } = await receivers.healthy.waitFor(
          (webhook) => webhook.requestId === requestId,
          WAIT_MS_MAX,
        );
        assertGranted(body);
      });
  const { main, suspended, deleted, waiting, keys } = apps;
  const statusOf = async (apiKey: string) =>
    makeCheckClient({ url: system.ready.gateways[0] ?? '', apiKey }).check(bodyOf(system, { mode: 'sync' }));
  const expected = [
    ['the second key works', keys.live, 200, undefined],
    ['the marketplace key works', keys.marketplace, 200, undefined],
    ['the revoked key is refused', keys.revoked, 401, 'api-key-invalid'],
    ["the suspended app's key is refused", suspended.apiKey, 403, 'client-app-suspended'],
    ["the deleted app's key is refused", deleted.apiKey, 401, 'api-key-invalid'],
    ['the app without an approved scope is refused', waiting.apiKey, 403, 'scope-not-approved'],
  ] as const;
  for (const [guarantee, apiKey, status, code] of expected)
    await tally.check(guarantee, async () => {
      const { status: given, body } = await statusOf(apiKey);
      if (given === 200) main.used++;
      assert.deepEqual([given, body.code], [status, code]);
    });
}

export async function examinePortal({ system, apps, tally }: Scene): Promise<void> {
  const { developer, developed, waiting, password } = apps;
  await tally.check('a session of the earlier version must sign in again', async () => {
    const shared = { token: developer.token() };
    const { status } = await makePortalClient(system.ready.portal, developer.email, shared).get(
      '/api/session',
    );
    assert.equal(status, 401);
  });
  const again = makePortalClient(system.ready.portal, developer.email);
  await tally.check('the password signs in', async () => {
    const { status } = await again.send('POST', '/api/sign-in', { email: developer.email, password });
    assert.equal(status, 200);
  });
  await tally.check('the developer sees both apps', async () => {
    const { body } = await again.get<readonly { readonly clientId: string }[]>('/api/apps');
    const ids = body.map(({ clientId }) => clientId).sort();
    assert.deepEqual(ids, [developed.clientId, waiting.clientId].sort());
  });
  await tally.check("the portal counts the month's checks", async () => {
    type Usage = {
      readonly month: { readonly used: number };
      readonly days: readonly { completed: number }[];
    };
    await waitUntil(
      'the figures',
      async () => {
        const { body } = await again.get<Usage>(`/api/apps/${developed.clientId}/usage`);
        const completed = body.days.reduce((sum, day) => sum + day.completed, 0);
        return body.month.used === developed.used && completed === developed.used;
      },
      WAIT_MS_MAX,
    );
  });
  await tally.check(
    'the scope that was requested before the upgrade is approved, and its key works',
    async () => {
      assert.equal((await system.admin('scope', 'approve', waiting.clientId)).exitCode, 0);
      await waitUntil(
        'the key to work',
        async () => {
          const { status } = await waiting.client.check(bodyOf(system, { mode: 'sync' }));
          return status === 200;
        },
        WAIT_MS_MAX,
      );
    },
  );
}

/** Exactly the rest of the month is accepted. */
export async function examineQuota({ system, apps: { limited }, tally }: Scene): Promise<void> {
  const rest = LIMITED_MONTH - limited.used;
  for (let i = 0; i < rest; i++)
    await tally.check('a check within the quota is accepted', async () =>
      assertGranted((await sendCheck(system, limited, { mode: 'sync' })).text),
    );
  await tally.check('a check beyond the quota is refused', async () => {
    const { body } = await limited.client.check(bodyOf(system, { mode: 'sync' }));
    assert.equal(body.code, 'monthly-quota-exceeded');
  });
}
