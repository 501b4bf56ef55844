import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { ChainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import {
  isPresent,
  partitionOfMember,
  type Watch,
  type WatchCommand,
  watchEvaluated,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { Why } from '#shared/contracts/watches/watch-check.ts';
import { type Budget, isWithinBudgets } from '#shared/fairness/throttle.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import { groupByWatch } from '#shared/stores/watches/members/watch-member-text.ts';
import type { Dependencies } from '../dependencies.ts';
import { isAbout, sweepFollowers } from '../sweeps/sweep-followers.ts';

/** A transfer whose check has no answer is checked again then. */
const AGAIN_MS = 20_000;

/** Checks of an account that transfers ask for. Beyond them, its watches are swept instead. */
const TRANSFER_CHECKS: Budget = { name: 'transfer-checks', countMax: 100_000, windowMs: HOUR_MS };

/** A transfer has at most this many members of one watch checked. If more have the wallet, the
 * watch is swept instead. */
export const MEMBERS_OF_WALLET_MAX = 100;

/** Requests the checks that a transfer makes due: of the members whose wallet it names. */
export function makeHandleTransfer(deps: Dependencies): Handler<ChainTransferred> {
  return async function handleTransfer(transfer) {
    const { account } = transfer;
    if (account === undefined) return sweepFollowers(deps, transfer);
    for await (const names of deps.members.ofWallet(account, MEMBERS_OF_WALLET_MAX + 1)) {
      const watches = [...groupByWatch(names)];
      // Another client may follow a contract that these watches are not about, and send its tokens
      // to any wallet: no more is asked about them.
      const areFollowing = await Promise.all(
        watches.map(([uid]) => deps.followed.isFollowedBy(uid, transfer)),
      );
      for (const [index, [uid, memberIds]] of watches.entries())
        if (areFollowing[index] !== false)
          await checkMembers(deps, transfer, { uid, memberIds, isFollowed: areFollowing[index] });
    }
  };
}

type MembersOfWallet = {
  readonly uid: string;
  readonly memberIds: readonly string[];
  /** Whether the contract is followed for the watch, if that is known. */
  readonly isFollowed: boolean | undefined;
};

async function checkMembers(
  deps: Dependencies,
  transfer: ChainTransferred,
  { uid, memberIds, isFollowed }: MembersOfWallet,
): Promise<void> {
  const watch = await deps.watches.readByUid(uid);
  if (!watch?.follow || !(await isAbout(deps, watch, transfer, isFollowed))) return;
  const { account, blockNumber } = transfer;
  if (account !== undefined) await deps.followed.withdrawSilent(uid, { ...transfer, account, blockNumber });
  const draws = [{ budget: TRANSFER_CHECKS, owner: watch.accountId, count: memberIds.length }];
  if (memberIds.length > MEMBERS_OF_WALLET_MAX || !(await isWithinBudgets(deps.throttle, draws)))
    return deps.sweepSoon(watch);
  try {
    await requestTransferChecks(deps, transfer, watch, memberIds);
  } catch (error) {
    // The record is processed again.
    await deps.throttle.refund(draws);
    throw error;
  }
}

async function requestTransferChecks(
  deps: Dependencies,
  transferred: ChainTransferred,
  watch: Watch,
  memberIds: readonly string[],
): Promise<void> {
  const uid = watchUid(watch);
  // Until the answer comes: it takes the member out of those that are due.
  await deps.members.setDue(
    memberIds.map((memberId) => ({ watchUid: uid, memberId })),
    deps.now() + AGAIN_MS,
  );
  const blocks = { [String(transferred.chainId)]: transferred.blockNumber };
  const why = whyOf(transferred);
  const ruleSet = await deps.ruleSets.read(watch.clientId, watch.ruleSet);
  if (watch.paused || ruleSet === undefined) return;
  for (const [partition, ofPartition] of Map.groupBy(memberIds, (id) => partitionOfMember(uid, id)))
    for await (const page of deps.members.readInPages(uid, ofPartition)) {
      const members = page.filter(isPresent);
      const checks = { watch, ruleSet, members, why, isCharged: false, owed: blocks };
      const unrequested = members.length > 0 ? await deps.requestChecks(checks) : [];
      if (unrequested.length === 0) continue;
      const at = new Date(deps.now()).toISOString();
      const command: WatchCommand = {
        ...{ command: 'owe', clientId: watch.clientId, watchUid: uid, partition, at },
        memberIds: unrequested.map(({ memberId }) => memberId),
        owed: { since: at, blocks, why },
      };
      await deps.publish(watchEvaluated, command);
    }
}

/** With the event, if it is still there and known. */
function whyOf(transferred: ChainTransferred): Why {
  const { chainId, contractAddress, blockNumber, dropped, transactionHash, logIndex } = transferred;
  if (dropped || transactionHash === undefined || logIndex === undefined) return { cause: 'transfer' };
  const transfer = { chainId, contractAddress, blockNumber, transactionHash, logIndex };
  return { cause: 'transfer', transfer };
}
