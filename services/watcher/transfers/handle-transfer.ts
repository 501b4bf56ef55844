import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { ChainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import {
  partitionOfMember,
  type Watch,
  type WatchCommand,
  type WatchMember,
  watchEvaluated,
  watchOfUid,
} from '#shared/contracts/watches/watch.ts';
import type { Transfer } from '#shared/contracts/watches/watch-check.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Budget, Draw, Throttle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import type { FollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import { groupByWatch, requestChecksOf } from '../members/check-due.ts';
import type { OpenParts } from '../members/open-parts.ts';
import type { RequestChecks } from '../members/request-checks.ts';
import { isAbout } from '../sweeps/sweep-followers.ts';

/** A transfer whose check has no answer is checked again then. */
const AGAIN_MS = 20_000;

/** A transfer has at most this many members of one watch checked. If more have the wallet, the
 * watch is swept instead. */
export const MEMBERS_OF_WALLET_MAX = 100;
/** Checks of a client app that transfers ask for; they are free of charge. Beyond them, its watches
 * are swept instead. */
const TRANSFER_CHECKS: Budget = { name: 'transfer-checks', countMax: 100_000, windowMs: HOUR_MS };

type Dependencies = {
  readonly watches: Pick<Watches, 'readByUid'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly followed: Pick<FollowedContracts, 'isFollowedBy' | 'withdrawSilent'>;
  readonly members: Pick<WatchMembers, 'ofWallet' | 'setDue' | 'readInPages'>;
  readonly throttle: Pick<Throttle, 'take' | 'refund'>;
  readonly openParts: Pick<OpenParts, 'take'>;
  readonly requestChecks: RequestChecks;
  readonly publish: KafkaConnection['publish'];
  /** Sweeps a watch soon. */
  readonly sweepSoon: (watch: Watch) => Promise<void>;
  /** Sweeps every watch that follows the contract. */
  readonly sweepFollowers: (
    contract: Pick<ChainTransferred, 'chainId' | 'contractAddress' | 'blockTag'>,
  ) => Promise<void>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Requests the checks that a transfer makes due: of the members whose wallet it names. */
export function makeHandleTransfer(deps: Dependencies): Handler<ChainTransferred> {
  return async function handleTransfer(transfer) {
    const { account } = transfer;
    if (account === undefined) return deps.sweepFollowers(transfer);
    for await (const names of deps.members.ofWallet(account, MEMBERS_OF_WALLET_MAX + 1))
      for (const [uid, memberIds] of groupByWatch(names)) await checkMembers(deps, transfer, uid, memberIds);
  };
}

/** Requests the checks of the members of one watch. */
async function checkMembers(
  deps: Dependencies,
  transfer: ChainTransferred,
  uid: string,
  memberIds: readonly string[],
): Promise<void> {
  const watch = await deps.watches.readByUid(uid);
  // Another client may follow a contract that this watch is not about, and send its tokens to any
  // wallet.
  if (!watch?.follow || !(await isAbout(deps, watch, transfer))) return;
  const { account, blockNumber } = transfer;
  if (account !== undefined) await deps.followed.withdrawSilent(uid, { ...transfer, account, blockNumber });
  const draws = [{ budget: TRANSFER_CHECKS, owner: watch.clientId, count: memberIds.length }];
  if (memberIds.length > MEMBERS_OF_WALLET_MAX || !(await isWithinBudget(deps, draws)))
    return deps.sweepSoon(watch);
  try {
    await requestTransferChecks(deps, transfer, uid, memberIds);
  } catch (error) {
    // The record is processed again.
    await deps.throttle.refund(draws);
    throw error;
  }
}

async function requestTransferChecks(
  deps: Dependencies,
  transferred: ChainTransferred,
  uid: string,
  memberIds: readonly string[],
): Promise<void> {
  // Until the answer comes: it takes the member out of those that are due.
  await deps.members.setDue(
    memberIds.map((memberId) => ({ uid, memberId })),
    deps.now() + AGAIN_MS,
  );
  const transfer = transferOf(transferred);
  const owed = {
    owed: { [String(transferred.chainId)]: transferred.blockNumber },
    ...(transfer === undefined ? {} : { transfer }),
  };
  for (const [partition, ofPartition] of byPartition(uid, memberIds)) {
    const checksOf = (members: readonly WatchMember[]) => [
      { members, cause: 'transfer' as const, isCharged: false, ...owed },
    ];
    const onUnrequested = (members: readonly WatchMember[]) => {
      const command: WatchCommand = {
        command: 'owe',
        clientId: watchOfUid(uid).clientId,
        watchUid: uid,
        partition,
        at: new Date(deps.now()).toISOString(),
        memberIds: members.map(({ memberId }) => memberId),
        ...owed,
      };
      return deps.publish(watchEvaluated, command);
    };
    await requestChecksOf(deps, { uid, memberIds: ofPartition, checksOf, onUnrequested });
  }
}

/** The event, if it is still there and known. */
function transferOf({
  chainId,
  contractAddress,
  blockNumber,
  dropped,
  transactionHash,
  logIndex,
}: ChainTransferred): Transfer | undefined {
  if (dropped || transactionHash === undefined || logIndex === undefined) return undefined;
  return { chainId, contractAddress, blockNumber, transactionHash, logIndex };
}

/** Counts checks against the budget of their client app; false if it is used up. */
const isWithinBudget = (
  { throttle }: Pick<Dependencies, 'throttle'>,
  draws: readonly Draw[],
): Promise<boolean> =>
  throttle.take(draws).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ServiceError && error.code === 'rate-limited') return false;
      throw error;
    },
  );

function byPartition(uid: string, memberIds: readonly string[]): Map<number, string[]> {
  const groups = new Map<number, string[]>();
  for (const memberId of memberIds) {
    const partition = partitionOfMember(uid, memberId);
    groups.set(partition, [...(groups.get(partition) ?? []), memberId]);
  }
  return groups;
}
