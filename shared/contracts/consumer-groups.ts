/** Every consumer group of the system: a group that is dead must still be found by name. */
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
