import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import type { PauseReason, Watch, WatchEvent, WatchMember } from '#shared/contracts/watches/watch.ts';
import type { EndpointNames, WatchCheck } from '#shared/contracts/watches/watch-check.ts';
import type { Throttle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';
import type { WriteDocument, Written } from '#shared/stores/documents/write-document.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import type { FollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import type { LogPositions } from '#shared/stores/watches/log-positions.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { WatchChains } from '#shared/stores/watches/watch-chains.ts';
import type { WatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { HeldFigures } from './domain/compose-event.ts';
import type { OpenParts } from './members/open-parts.ts';
import type { UnreadChains } from './members/unread-chains.ts';
import type { WatchQuota } from './members/watch-quota.ts';
import type { WatcherMetrics } from './metrics.ts';

type ChangeWatch = (
  watch: Watch,
  by: (current: Watch) => Watch | undefined,
) => Promise<Written<Watch> | undefined>;

/** Checks of members of one partition. */
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

/** Stores, broker, clock and settings of the watcher. */
export type Stores = {
  readonly watches: Watches;
  readonly members: WatchMembers;
  readonly sweeps: WatchSweeps;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly clientApps: Pick<ClientApps, 'read'>;
  readonly accounts: Pick<Accounts, 'read'>;
  readonly followed: FollowedContracts;
  readonly positions: LogPositions;
  /** Which chains could not be read for a watch. */
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
export type Dependencies = Stores & {
  /** Publishes a member's new state and its event; of a deleted watch no event. */
  readonly publishMember: (watch: Watch | undefined, member: WatchMember) => Promise<void>;
  /** Publishes the events that a dead process has left in the outbox of a partition. */
  readonly publishOutbox: (partition: number) => Promise<void>;
  readonly publishEvent: (watch: Watch, event: WatchEvent) => Promise<void>;
  /** Requests checks; returns the members whose checks were not requested. */
  readonly requestChecks: (checks: ChecksToRequest) => Promise<readonly WatchMember[]>;
  /** Changes a stored watch unless it was deleted. */
  readonly change: ChangeWatch;
  /** Changes a stored watch, also a deleted one. */
  readonly changeStored: ChangeWatch;
  readonly pause: (watch: Watch, reason: PauseReason) => Promise<void>;
  /** Notes that the sweep has ended. */
  readonly noteSwept: (watch: Watch, sweep: number) => Promise<void>;
  /** Publishes the event that the document contains, then removes it from the document. */
  readonly publishWatchEvent: (watch: Watch) => Promise<void>;
  /** Tells the client which roles are held from now on, unless it has released them since. */
  readonly announceHeld: (watch: Watch, roles: readonly HeldFigures[], sinceMs: number) => Promise<void>;
  /** Makes a free sweep of a watch due, because transfers were missed or were too many: anyone can
   * cause that, so it is an hour after the last one for this reason at the earliest. */
  readonly sweepSoon: (watch: Watch) => Promise<void>;
};
