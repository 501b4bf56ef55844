import { setTimeout as delay } from 'node:timers/promises';
import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { MEMBER_PARTITIONS, type Watch, type WatchMember } from '#shared/contracts/watches/watch.ts';
import type { EndpointNames, WatchCheck } from '#shared/contracts/watches/watch-check.ts';
import { makeThrottle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Redis } from '#shared/redis/connect.ts';
import type { ServiceContext } from '#shared/service-context.ts';
import { makeAccounts } from '#shared/stores/apps/accounts.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeWriteDocument } from '#shared/stores/documents/write-document.ts';
import { makeRuleSets } from '#shared/stores/rules/rule-sets.ts';
import { makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { makeLogPositions } from '#shared/stores/watches/log-positions.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeWatchChains } from '#shared/stores/watches/watch-chains.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { makeWatches } from '#shared/stores/watches/watches.ts';
import { makeOpenParts } from './members/open-parts.ts';
import { makeUnreadChains } from './members/unread-chains.ts';
import { makeWatchQuota } from './members/watch-quota.ts';
import { makeMetrics } from './metrics.ts';
import { rememberRuleSets } from './sweeps/remember-rule-sets.ts';

/** A sweep that waits for room is looked at at intervals that double. */
const PACE_MS = { min: 100, max: 1_000 } as const;

export type ChecksToRequest = Pick<WatchCheck, 'why' | 'owed' | 'sweep' | 'forgives'> & {
  readonly watch: Watch;
  readonly ruleSet: RuleSet;
  readonly members: readonly WatchMember[];
  readonly isCharged: boolean;
  /** By chain id, the endpoints that are asked only if there are too few others. */
  readonly avoid?: EndpointNames | undefined;
  /** Counts a part among the open ones, before it is charged and published; false ends the
   * requests. Default: it is one of the client app's open parts. */
  readonly beforePart?: (requestId: string) => Promise<boolean>;
  /** Called with the id of a part that surely could not be published. */
  readonly afterLostPart?: (requestId: string) => Promise<void>;
};

type Connections = {
  readonly redis: Redis;
  readonly kafka: Pick<KafkaConnection, 'publish'>;
  readonly context: Pick<ServiceContext, 'log' | 'metrics'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
  readonly isOwned: (partition: number) => boolean;
  /** Parts of one sweep that may wait for their results. */
  readonly partsMax: number;
};

/** The stores, broker, clock and settings of the watcher. */
export function openStores({ redis, kafka, context, ...given }: Connections) {
  return {
    ...given,
    watches: makeWatches(redis),
    members: makeWatchMembers(redis),
    sweeps: makeWatchSweeps(redis),
    ruleSets: rememberRuleSets(makeRuleSets(redis)),
    clientApps: makeClientApps(redis),
    accounts: makeAccounts(redis),
    followed: makeFollowedContracts(redis),
    positions: makeLogPositions(redis),
    chains: makeWatchChains(redis),
    unread: makeUnreadChains(given.now),
    openParts: makeOpenParts(redis),
    quota: makeWatchQuota(redis),
    throttle: makeThrottle(redis),
    publish: kafka.publish,
    writeDocument: makeWriteDocument(kafka),
    metrics: makeMetrics(context.metrics),
    log: context.log,
    partitions: Array.from({ length: MEMBER_PARTITIONS }, (_, index) => index),
    /** Waits before the number of parts without results is checked again, the longer the more looks
     * have found no room for another one. */
    pace: (looks: number): Promise<unknown> => delay(Math.min(PACE_MS.min * 2 ** looks, PACE_MS.max)),
  };
}

export type Stores = ReturnType<typeof openStores>;
