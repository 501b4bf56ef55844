import { audit } from './apps/audit.ts';
import { account, clientApp } from './apps/client-app.ts';
import { batchCompleted, checkRequestedBatch } from './batches/batch.ts';
import { checkCompleted } from './checks/check-completed.ts';
import { checkRequestedBulk, checkRequestedInteractive } from './checks/check-requested.ts';
import { DAY_MS, HOUR_MS } from './durations.ts';
import type { Retention } from './retention.ts';
import { ruleSet } from './rules/rule-set.ts';
import { deadLetterSpecOf, type TopicSpec } from './topic.ts';
import { usage } from './usage/usage.ts';
import { chainTransferred } from './watches/chain-transferred.ts';
import { watch, watchEvaluated, watchMember } from './watches/watch.ts';
import { webhookAttempted, webhookRequested, webhookRetry } from './webhooks/webhook.ts';

/** Every topic that carries messages, in the order in which a check uses them. */
export const SOURCE_TOPICS: readonly TopicSpec[] = [
  checkRequestedInteractive,
  checkRequestedBulk,
  checkRequestedBatch,
  checkCompleted,
  batchCompleted,
  watchEvaluated,
  chainTransferred,
  ...Object.values(webhookRetry),
  webhookRequested,
  webhookAttempted,
  account,
  clientApp,
  ruleSet,
  watch,
  watchMember,
  usage,
  audit,
];

export const ALL_TOPICS: readonly TopicSpec[] = [...SOURCE_TOPICS, ...SOURCE_TOPICS.map(deadLetterSpecOf)];

export const withRetention = (topics: readonly TopicSpec[], retention: Retention): TopicSpec[] =>
  topics.map((topic) => ({
    ...topic,
    ...(topic.retentionClass && { retentionMs: retention[topic.retentionClass] * DAY_MS }),
    ...(topic.cleanup !== 'delete' && { supersededMs: retention.supersededHours * HOUR_MS }),
  }));
