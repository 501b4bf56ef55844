import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Basis } from '../basis.ts';
import { makeClientAppWork } from './client-apps.ts';
import { keyRecord, newKey } from './credentials.ts';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const createdAt = new Date(NOW).toISOString();
const owner = { accountId: 'acc_1', tier: 'free' } as Account;
const facts = { name: 'k', marketplace: false };

test('an app at its limit accepts a repeated creation of its last key, and refuses another key', async () => {
  const last = newKey();
  const keys = Array.from({ length: limitsOf(owner).liveKeys }, (_, i) =>
    keyRecord(i === 0 ? last : { ...last, keyId: `key_${i}` }, facts, createdAt),
  );
  const full = { clientId: 'app_1', accountId: 'acc_1', keys } as unknown as ClientApp;
  const { createKey } = makeClientAppWork(
    partially<Basis>({
      accounts: { read: async () => owner },
      clientApps: { read: async () => full },
      slots: { take: async () => ({ release: async () => undefined }) },
      writes: { app: async (_clientId, _deed, change) => change(full) ?? full },
      box: { seal: (text) => text, reseal: (text) => text },
      now: () => NOW,
    }),
  );
  await createKey('dev@example.com', 'app_1', last, facts);
  await expect(createKey('dev@example.com', 'app_1', newKey(), facts)).rejects.toMatchObject({
    code: 'limit-reached',
  });
});
