import type { Redis } from '#shared/redis/connect.ts';
import { makeViewState } from '#shared/redis/view.ts';
import { makeAccounts } from '#shared/stores/apps/accounts.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeCheckLog } from '#shared/stores/checks/check-log.ts';
import { makeRestoreAdmission } from '#shared/stores/replay/restore-admission.ts';
import { makeUsageFigures } from '#shared/stores/usage/usage.ts';
import { makeUsageDays } from '#shared/stores/usage/usage-days.ts';
import { makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { makeWatchChains } from '#shared/stores/watches/watch-chains.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { makeWatches } from '#shared/stores/watches/watches.ts';
import { makeWebhookBodies } from '#shared/stores/webhooks/webhook-bodies.ts';
import { makeAuditTrail } from '../audit/audit-trail.ts';
import { makeBatches, makeBatchList } from '../batches/batches.ts';
import { makeResults } from '../checks/results.ts';
import { makeRuleSets } from '../rules/rule-sets.ts';
import { makeWatchMembers } from '../watches/members/watch-members.ts';
import { makeDeliveries } from '../webhooks/deliveries.ts';

/** The views in a Redis, and the state of watches beside them. */
export const openViews = (redis: Redis) => ({
  views: makeViewState(redis),
  accounts: makeAccounts(redis),
  clientApps: makeClientApps(redis),
  ruleSets: makeRuleSets(redis),
  watches: makeWatches(redis),
  watchMembers: makeWatchMembers(redis),
  sweeps: makeWatchSweeps(redis),
  followed: makeFollowedContracts(redis),
  watchChains: makeWatchChains(redis),
  results: makeResults(redis),
  checkLog: makeCheckLog(redis),
  batches: makeBatches(redis),
  batchList: makeBatchList(redis),
  deliveries: makeDeliveries(redis),
  webhookBodies: makeWebhookBodies(redis),
  admission: makeRestoreAdmission(redis),
  usageFigures: makeUsageFigures(redis),
  usageDays: makeUsageDays(redis),
  auditTrail: makeAuditTrail(redis),
});

export type OpenViews = ReturnType<typeof openViews>;
