import type { Redis } from '#shared/redis/connect.ts';
import { makeViewState } from '#shared/redis/view.ts';
import { makeAccounts } from '#shared/stores/apps/accounts.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeAuditTrail } from '#shared/stores/audit/audit-trail.ts';
import { makeBatchList } from '#shared/stores/batches/batch-list.ts';
import { makeBatches } from '#shared/stores/batches/batches.ts';
import { makeCheckLog } from '#shared/stores/checks/check-log.ts';
import { makeResults } from '#shared/stores/checks/results.ts';
import { makeRestoreAdmission } from '#shared/stores/replay/restore-admission.ts';
import { makeRuleSets } from '#shared/stores/rules/rule-sets.ts';
import { makeUsageFigures } from '#shared/stores/usage/usage.ts';
import { makeUsageDays } from '#shared/stores/usage/usage-days.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeWatches } from '#shared/stores/watches/watches.ts';
import { makeDeliveries } from '#shared/stores/webhooks/deliveries.ts';
import { makeWebhookBodies } from '#shared/stores/webhooks/webhook-bodies.ts';

/** Every view in a Redis: for a rebuild, and for an operator's look-ups. */
export const openViews = (redis: Redis) => ({
  views: makeViewState(redis),
  accounts: makeAccounts(redis),
  clientApps: makeClientApps(redis),
  ruleSets: makeRuleSets(redis),
  watches: makeWatches(redis),
  watchMembers: makeWatchMembers(redis),
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
