import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';

/** The document of an approved app of the free tier, without keys and secrets. */
export const aClientApp = (clientId: string, over: Partial<ClientApp> = {}): ClientApp => ({
  clientId,
  version: 1,
  accountId: 'acc_1',
  name: 'one',
  scope: 'approved',
  suspended: false,
  limits: appLimitsOf({ tier: 'free' }),
  keys: [],
  webhookSecrets: [],
  createdAt: '2026-11-21T10:00:00.000Z',
  ...over,
});
