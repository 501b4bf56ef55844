import { contractsOf, type RuleSet } from '#shared/contracts/rule-set.ts';
import { type ChainTransferred, partitionOfMember, type Watch } from '#shared/contracts/watch.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { WatchMembers } from '#shared/redis/watch-members.ts';
import type { Watches } from '#shared/redis/watches.ts';
import type { AskChecks } from './ask-checks.ts';
import { askFor, groupByWatch } from './check-due.ts';

/** A transfer whose check has no answer is checked again then. */
const AGAIN_MS = 30_000;

type Dependencies = {
  readonly watches: Pick<Watches, 'readByUid'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly members: Pick<WatchMembers, 'ofWallet' | 'setDue' | 'readMany'>;
  readonly askChecks: AskChecks;
  /** Sweeps every watch that follows the contract. */
  readonly sweepFollowers: (
    contract: Pick<ChainTransferred, 'chainId' | 'contractAddress' | 'blockTag'>,
  ) => Promise<void>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Asks for the checks that a transfer makes due: of the members whose wallet it names. */
export function makeHandleTransfer(deps: Dependencies): Handler<ChainTransferred> {
  return async function handleTransfer(transfer) {
    const { chainId, account, blockNumber, dropped, afterReorg } = transfer;
    if (account === undefined) return deps.sweepFollowers(transfer);
    const names = await deps.members.ofWallet(account);
    if (names.length === 0) return;
    const block = { [String(chainId)]: blockNumber };
    for (const [uid, memberIds] of groupByWatch(names)) {
      const watch = await deps.watches.readByUid(uid);
      const ruleSet = watch && (await deps.ruleSets.read(watch.clientId, watch.ruleSet));
      // Another client may follow a contract that this watch is not about, and send its tokens to any wallet.
      if (!watch || !ruleSet || !isAbout(ruleSet, watch, transfer)) continue;
      // Until the answer comes: it takes the member out of those that are due.
      await deps.members.setDue(
        memberIds.map((memberId) => ({ uid, memberId })),
        deps.now() + AGAIN_MS,
      );
      for (const ofPartition of byPartition(uid, memberIds))
        await askFor(deps, uid, ofPartition, (members) => [
          {
            members,
            cause: 'transfer',
            isCharged: false,
            ...(dropped ? {} : { minBlock: block }),
            ...(dropped || afterReorg ? { reorgFrom: block } : {}),
          },
        ]);
    }
  };
}

/** Whether a rule set is about a contract. */
export const isAbout = (
  ruleSet: RuleSet,
  watch: Watch,
  { chainId, contractAddress, blockTag }: Pick<ChainTransferred, 'chainId' | 'contractAddress' | 'blockTag'>,
): boolean =>
  watch.follow &&
  watch.blockTag === blockTag &&
  contractsOf(ruleSet).some((each) => each.chainId === chainId && each.contractAddress === contractAddress);

function byPartition(uid: string, memberIds: readonly string[]): string[][] {
  const groups = new Map<number, string[]>();
  for (const memberId of memberIds) {
    const partition = partitionOfMember(uid, memberId);
    groups.set(partition, [...(groups.get(partition) ?? []), memberId]);
  }
  return [...groups.values()];
}
