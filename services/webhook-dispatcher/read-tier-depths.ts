import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { RETRY_TIERS, type RetryTier, webhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { uncommittedOf } from '#shared/kafka/lag.ts';
import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';

/** The broker is asked at most this often, however often the metrics are scraped. */
const KEEP_MS = 15_000;

type TierDepths = Readonly<Record<RetryTier, number>>;

/**
 * Makes a reader of how many deliveries wait in each retry tier, over all dispatchers: the records
 * of the tier's topic that the group has not committed.
 *
 * @example
 * const depths = await makeReadTierDepths(kafka.admin, () => performance.now())(); // { '5s': 3, … }
 */
export function makeReadTierDepths(
  admin: Pick<KafkaConnection['admin'], 'fetchOffsets'> & Parameters<typeof readTopicOffsets>[0],
  monotonicMs: () => number,
): () => Promise<TierDepths> {
  const depthOf = async (tier: RetryTier): Promise<number> => {
    const topic = webhookRetry[tier].name;
    const [ends, [committed]] = await Promise.all([
      readTopicOffsets(admin, topic),
      admin.fetchOffsets({ groupId: CONSUMER_GROUPS.webhookRetries, topics: [topic] }),
    ]);
    return uncommittedOf(ends, committed?.partitions ?? []);
  };
  let kept: { readonly atMs: number; readonly depths: Promise<TierDepths> } | undefined;
  return () => {
    if (kept === undefined || monotonicMs() - kept.atMs > KEEP_MS) {
      const depths = Promise.all(RETRY_TIERS.map(async (tier) => [tier, await depthOf(tier)] as const));
      kept = {
        atMs: monotonicMs(),
        depths: depths.then((entries) => Object.fromEntries(entries) as TierDepths),
      };
    }
    return kept.depths;
  };
}
