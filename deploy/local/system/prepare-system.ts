import { enterpriseLimits } from '#shared/contracts/apps/tiers.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { completeViews, waitUntilComplete } from '#shared/stores/replay/keep-views.ts';
import { ensureOperator } from '../../../services/developer-portal/admin/commands/account-commands.ts';
import { createApp } from '../../../services/developer-portal/admin/commands/app-commands.ts';
import { openSystem } from '../../../services/developer-portal/admin/open-system.ts';
import type { LocalEnvironment } from '../settings/local-environment.ts';
import type { LocalSecrets } from '../settings/local-secrets.ts';

/** More than any benchmark on one machine uses. */
const DEMO_LIMITS = enterpriseLimits({
  requestsPerSecond: 100_000,
  requestsPerMonth: 1_000_000_000,
  clientApps: 10_000,
  marketplaceKeys: 10_000,
});

/**
 * Brings the broker and the store to where the services can start: topics as declared, views
 * complete, the demo app and the operator's account there. Every start repeats this; it changes
 * nothing if nothing is missing.
 */
export async function prepareSystem(environment: LocalEnvironment, secrets: LocalSecrets): Promise<void> {
  await using system = await openSystem({ ...environment.common, ...environment.keys, LOG_LEVEL: 'silent' });
  await applyTopics(system.kafka.admin, system.topics);
  // Without a result-store no process would do it, and the demo app needs its views.
  if (!(await completeViews({ ...system, now: system.clock.now }))) await waitUntilComplete(system.views);
  await createApp(system, {
    email: 'demo@localhost',
    name: 'Demo app',
    tier: 'enterprise',
    limits: DEMO_LIMITS,
    approve: true,
    // No user can sign up before the portal listens; an older data directory does not record who
    // made the account.
    vouch: true,
    credentials: secrets.app,
  });
  await ensureOperator(system, secrets.operator);
}
