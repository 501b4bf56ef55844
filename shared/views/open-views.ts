import { makeAccounts } from '#shared/redis/accounts.ts';
import { makeAuditTrail } from '#shared/redis/audit-trail.ts';
import { makeBatchList } from '#shared/redis/batch-list.ts';
import { makeBatches } from '#shared/redis/batches.ts';
import { makeCheckLog } from '#shared/redis/check-log.ts';
import { makeClientApps } from '#shared/redis/client-apps.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { makeDeliveries } from '#shared/redis/deliveries.ts';
import { makeRestoreAdmission } from '#shared/redis/restore-admission.ts';
import { makeResults } from '#shared/redis/results.ts';
import { makeRuleSets } from '#shared/redis/rule-sets.ts';
import { makeUsageFigures } from '#shared/redis/usage.ts';
import { makeUsageDays } from '#shared/redis/usage-days.ts';
import { makeViewState } from '#shared/redis/view.ts';
import { makeWatchMembers } from '#shared/redis/watch-members.ts';
import { makeWatches } from '#shared/redis/watches.ts';
import { makeWebhookBodies } from '#shared/redis/webhook-bodies.ts';

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
