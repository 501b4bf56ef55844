import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Watch, WatchMember } from '#shared/contracts/watches/watch.ts';
import type { EndpointNames, WatchCheck } from '#shared/contracts/watches/watch-check.ts';
import type { Throttle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';
import type { WriteDocument } from '#shared/stores/documents/write-document.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import type { FollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import type { LogPositions } from '#shared/stores/watches/log-positions.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { WatchChains } from '#shared/stores/watches/watch-chains.ts';
import type { WatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { OpenParts } from './members/open-parts.ts';
import type { PublishChanges } from './members/publish-changes.ts';
import type { RequestChecks } from './members/request-checks.ts';
import type { UnreadChains } from './members/unread-chains.ts';
import type { WatchQuota } from './members/watch-quota.ts';
import type { WatcherMetrics } from './metrics.ts';
import type { AnnounceHeld } from './sweeps/announce-held.ts';
import type { ChangeWatch } from './sweeps/change-watch.ts';
import type { SweepSoon } from './sweeps/sweep-followers.ts';

export type ChecksToRequest = Pick<WatchCheck, 'why' | 'owed' | 'sweep' | 'forgives'> & {
  readonly watch: Watch;
  readonly ruleSet: RuleSet;
  readonly members: readonly WatchMember[];
  readonly isCharged: boolean;
  /** By chain id, the endpoints that are asked only if there are too few others. */
  readonly avoid?: EndpointNames | undefined;
  /** Counts a part among the open ones, before it is charged and published; false ends the requests.
   * Default: it is one of the client app's open parts. */
  readonly beforePart?: (requestId: string) => Promise<boolean>;
  /** Called with the id of a part that surely could not be published. */
  readonly afterLostPart?: (requestId: string) => Promise<void>;
};

export type Stores = {
  readonly watches: Watches;
  readonly members: WatchMembers;
  readonly sweeps: WatchSweeps;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly clientApps: Pick<ClientApps, 'read'>;
  readonly accounts: Pick<Accounts, 'read'>;
  readonly followed: FollowedContracts;
  readonly positions: LogPositions;
  readonly chains: WatchChains;
  readonly unread: UnreadChains;
  readonly openParts: OpenParts;
  readonly quota: WatchQuota;
  readonly throttle: Pick<Throttle, 'take' | 'refund'>;
  readonly publish: KafkaConnection['publish'];
  readonly writeDocument: WriteDocument;
  readonly metrics: WatcherMetrics;
  readonly log: Logger;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
  readonly partitions: readonly number[];
  readonly isOwned: (partition: number) => boolean;
  /** Parts of one sweep that may wait for their results. */
  readonly partsMax: number;
  /** Waits before the number of parts without results is checked again, the longer the more looks
   * have found no room for another one. */
  readonly pace: (looks: number) => Promise<unknown>;
};

/** The parts of the watcher, made once at its start; tests replace some of them. */
export type Dependencies = Stores &
  PublishChanges &
  ChangeWatch &
  AnnounceHeld & {
    readonly requestChecks: RequestChecks;
    readonly sweepSoon: SweepSoon;
  };
