import { audit } from './apps/audit.ts';
import { account, clientApp } from './apps/client-app.ts';
import { batchCompleted, checkRequestedBatch } from './batches/batch.ts';
import { checkCompleted } from './checks/check-completed.ts';
import { LANES } from './checks/check-requested.ts';
import { ruleSet } from './rules/rule-set.ts';
import type { TopicSpec } from './topic.ts';
import { chainTransferred } from './watches/chain-transferred.ts';
import { watch, watchEvaluated, watchMember } from './watches/watch.ts';
import { webhookRequested, webhookRetry } from './webhooks/webhook.ts';

/** Every consumer group of the system: a group that is dead must still be found by name. Each
 * begins with the name of its service. */
export const CONSUMER_GROUPS = {
  lanes: { interactive: 'evaluator.interactive', bulk: 'evaluator.bulk' },
  batchLane: 'evaluator.batch',
  results: 'result-store',
  batchResults: 'result-store.batches',
  /** All compacted topics, and the audit trail. */
  documents: 'result-store.documents',
  /** The owner of a partition of it owns that partition of the members. */
  members: 'watcher',
  transfers: 'watcher.transfers',
  webhooks: 'webhook-dispatcher',
  /** One group for all tiers: a record that is not due yet costs nothing in it. */
  webhookRetries: 'webhook-dispatcher.retry',
} as const;

export const TOPICS_OF_GROUPS: Readonly<Record<string, readonly TopicSpec[]>> = {
  [CONSUMER_GROUPS.lanes.interactive]: [LANES.interactive],
  [CONSUMER_GROUPS.lanes.bulk]: [LANES.bulk],
  [CONSUMER_GROUPS.batchLane]: [checkRequestedBatch],
  [CONSUMER_GROUPS.results]: [checkCompleted, webhookRequested],
  [CONSUMER_GROUPS.batchResults]: [batchCompleted],
  [CONSUMER_GROUPS.documents]: [account, clientApp, ruleSet, watch, watchMember, audit],
  [CONSUMER_GROUPS.members]: [watchEvaluated],
  [CONSUMER_GROUPS.transfers]: [chainTransferred],
  [CONSUMER_GROUPS.webhooks]: [webhookRequested],
  [CONSUMER_GROUPS.webhookRetries]: Object.values(webhookRetry),
};
