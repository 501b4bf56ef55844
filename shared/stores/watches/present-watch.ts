import {
  type contractsOf,
  contractsUpTo,
  type RuleSet,
  ruleSetKey,
} from '#shared/contracts/rules/rule-set.ts';
import type { PresentedMember, PresentedWatch } from '#shared/contracts/watches/presented-watch.ts';
import {
  blockNumbersOf,
  refOf,
  type Watch,
  type WatchMember,
  WatchSettings,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { RuleSets } from '../rules/rule-sets.ts';
import type { FollowedContracts } from './followed-contracts.ts';
import type { WatchMembers } from './members/watch-members.ts';

export type PresentWatchDependencies = {
  readonly members: Pick<WatchMembers, 'figures'>;
  readonly followed: Pick<FollowedContracts, 'states'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  /** Rule sets that are perhaps some seconds old: a page of watches may name 200 large ones. */
  readonly ruleSetCache?: Pick<RuleSets, 'read'>;
};

/** Distinct rule sets read at a time for a list of watches; each has up to 250 KB. */
const RULE_SETS_AT_ONCE = 4;

/** Makes the functions that return watches as clients see them: `present` one, `presentMany` a
 * list. */
export function makePresentWatch({ members, followed, ruleSets, ruleSetCache }: PresentWatchDependencies) {
  const readRuleSet = ({ clientId, ruleSet: id }: Watch) => (ruleSetCache ?? ruleSets).read(clientId, id);

  async function presentWith(ruleSet: RuleSet | undefined, watch: Watch): Promise<PresentedWatch> {
    const uid = watchUid(watch);
    const contracts = watch.follow && ruleSet ? contractsUpTo(ruleSet, watch.blockTag) : [];
    const [figures, following] = await Promise.all([
      members.figures(uid),
      watch.paused ? contracts.map(whilePaused) : followed.states(uid, contracts),
    ]);
    const active = watch.held.length > 0 ? 'held' : 'active';
    return {
      watchId: watch.watchId,
      version: watch.settingsVersion,
      state: watch.paused ? 'paused' : active,
      ...(watch.paused ? { reason: watch.paused.reason } : {}),
      held: watch.held.map(({ id }) => id),
      ...(watch.stalled && !watch.paused
        ? { stalled: watch.stalled.map(({ chainId, since }) => ({ chainId, since })) }
        : {}),
      members: figures.members,
      following,
      ...WatchSettings.parse(watch),
      createdAt: watch.createdAt,
      updatedAt: watch.updatedAt,
    };
  }

  return {
    present: async (watch: Watch): Promise<PresentedWatch> => presentWith(await readRuleSet(watch), watch),
    /** Reads each rule set once, and holds only a few at a time. */
    async presentMany(watches: readonly Watch[]): Promise<PresentedWatch[]> {
      const groups = Map.groupBy(watches, ({ clientId, ruleSet }) => ruleSetKey(clientId, ruleSet)).values();
      const presented = new Map<Watch, PresentedWatch>();
      const presentGroups = async () => {
        // All workers take from one iterator.
        for (const group of groups) {
          const [first] = group;
          const ruleSet = first && (await readRuleSet(first));
          await Promise.all(
            group.map(async (watch) => presented.set(watch, await presentWith(ruleSet, watch))),
          );
        }
      };
      await Promise.all(Array.from({ length: RULE_SETS_AT_ONCE }, presentGroups));
      return watches.flatMap((watch) => {
        const found = presented.get(watch);
        return found ? [found] : [];
      });
    },
  };
}

const whilePaused = ({ chainId, contractAddress }: ReturnType<typeof contractsOf>[number]) => ({
  chainId,
  contractAddress,
  state: 'sweeps-only' as const,
  reason: 'The watch is paused.',
});

export function presentMember(member: WatchMember): PresentedMember {
  const { wallets, roles, sequence, addedAt, checked } = member;
  const { account, accounts, vaults } = wallets;
  const ref = refOf(member);
  const pending = roles.flatMap(({ id, heldBack }) =>
    heldBack?.graceUntil === undefined ? [] : [{ id, since: heldBack.since }],
  );
  const since = roles.reduce((latest, role) => [role.since, latest].sort().at(-1) ?? '', '');
  return {
    ...(accounts === undefined ? { account } : { accounts }),
    ...(vaults === undefined ? {} : { vaults }),
    ...(ref === undefined ? {} : { ref }),
    roles: roles.map(({ id, granted, since, heldBack }) => ({
      id,
      granted,
      since,
      ...(heldBack && heldBack.graceUntil === undefined ? { revocationHeld: true } : {}),
    })),
    ...(pending.length === 0 ? {} : { pending }),
    sequence,
    addedAt,
    ...(since === '' ? {} : { since }),
    ...(checked === undefined ? {} : { checkedAt: checked.at }),
    blockNumbers: blockNumbersOf(member),
    errors: checked?.errors ?? [],
  };
}
