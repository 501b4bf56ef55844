import { type ChainTransferred, chainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { type FollowedContracts, makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { makeLogPositions } from '#shared/stores/watches/log-positions.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { makeThrottledWarning } from '#shared/telemetry/log-throttle.ts';
import type { Chains } from '../chain/connect-chains.ts';
import type { Transferred } from '../chain/logs/follow-chain.ts';
import { startFollowing } from '../chain/logs/follow-chains.ts';
import type { FollowingMetrics } from '../metrics.ts';

/** Records that wait for the broker at a time. */
const PUBLISH_MAX = 1_000;
const LOG_INTERVAL_MS = 10_000;

type Dependencies = {
  readonly chains: Chains['followable'];
  readonly redis: Parameters<typeof makeFollowedContracts>[0];
  readonly publish: KafkaConnection['publish'];
  readonly metrics: FollowingMetrics;
  readonly log: Logger;
  /** Epoch ms, Redis's clock. */
  readonly redisNowMs: () => number;
  /** Half of the pause after a first failure, ms; it doubles with each further one. Default 500. */
  readonly backOffMsMin?: number;
};

/** Follows the transfers of watched contracts and publishes those that name a member's wallet. */
export function startFollowingTransfers({
  chains,
  redis,
  publish,
  metrics,
  log,
  redisNowMs,
  backOffMsMin,
}: Dependencies): AsyncDisposable {
  const followed: FollowedContracts = makeFollowedContracts(redis);
  const onError = makeThrottledWarning(log, 'following transfers failed', LOG_INTERVAL_MS);
  const publishAll = async (messages: readonly ChainTransferred[]): Promise<void> => {
    for (let at = 0; at < messages.length; at += PUBLISH_MAX)
      await Promise.all(
        messages
          .slice(at, at + PUBLISH_MAX)
          .map((message) => publish(chainTransferred, message, { isValidated: true })),
      );
  };
  return startFollowing({
    chains,
    positions: makeLogPositions(redis),
    contractsOf: followed.list,
    followerOf: (chainId, blockTag) => ({
      watchedAmong: followed.watchedAmong,
      async publish(transfers) {
        const at = new Date(redisNowMs()).toISOString();
        await publishAll(transfers.map((each) => messageOf(each, { chainId, blockTag, at })));
        metrics.onPublished(chainId, transfers.length);
      },
      setStates: (contracts, state) => followed.setStates({ chainId, blockTag }, contracts, state),
      observer: { ...metrics.observerOf(chainId), onError },
    }),
    onError,
    onLease(chainId, isHeld) {
      metrics.onLease(chainId, isHeld);
      log.info({ chainId }, isHeld ? 'following transfers' : 'no longer following transfers');
    },
    monotonicMs: () => performance.now(),
    backOffMsMin,
  });
}

const messageOf = (
  { contract, account, blockNumber, isDropped, event }: Transferred,
  common: Pick<ChainTransferred, 'chainId' | 'blockTag' | 'at'>,
): ChainTransferred => ({
  ...common,
  contractAddress: contract,
  ...(account === undefined ? {} : { account }),
  blockNumber,
  dropped: isDropped,
  ...event,
});
