import { audit } from './audit.ts';
import { batchCompleted, checkRequestedBatch } from './batch.ts';
import { chainTransferred } from './chain-transferred.ts';
import { checkCompleted } from './check-completed.ts';
import { checkRequestedBulk, checkRequestedInteractive } from './check-requested.ts';
import { account, clientApp } from './client-app.ts';
import { ruleSet } from './rule-set.ts';
import { deadLetterSpecOf, type TopicSpec } from './topic.ts';
import { usage } from './usage.ts';
import { watch, watchEvaluated, watchMember } from './watch.ts';
import { webhookAttempted, webhookRequested, webhookRetry } from './webhook.ts';

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

/** Every topic of the system: the sources and their dead-letter topics. */
export const ALL_TOPICS: readonly TopicSpec[] = [...SOURCE_TOPICS, ...SOURCE_TOPICS.map(deadLetterSpecOf)];
