import { type RuleSet, rulesOf } from '#shared/contracts/rules/rule-set.ts';
import { isNewMember, type WatchMember } from '#shared/contracts/watches/watch.ts';
import { judgeAge, type MemberCheck } from './judge-age.ts';

type Contract = { readonly chainId: number; readonly contractAddress: string };
/** A member whose role a scheduled sweep found changed, where the balance of one contract alone
 * decides on the role. */
type Found = Contract & { readonly member: WatchMember; readonly check: MemberCheck };

/**
 * The changes of a sweep that a transfer should have told of before; one for each contract.
 * Delegations of vaults and rules that depend on more than one balance can change a role without a
 * transfer of the contract, and are left out.
 */
export function findSilentChanges(
  members: readonly WatchMember[],
  checks: ReadonlyMap<string, MemberCheck>,
  ruleSet: RuleSet,
): Found[] {
  const found = new Map<string, Found>();
  let contracts: ReadonlyMap<string, Contract> | undefined;
  for (const member of members) {
    const check = checks.get(member.memberId);
    if (!check || !isComparable(member, check)) continue;
    for (const { id, granted, withheld } of member.roles) {
      const verdict = check.verdicts.get(id);
      if (verdict === undefined || verdict === granted || withheld) continue;
      // Parsed once, and only if a role has changed.
      contracts ??= contractsByRole(ruleSet);
      const contract = contracts.get(id);
      if (contract)
        found.set(`${contract.chainId}/${contract.contractAddress}`, { ...contract, member, check });
    }
  }
  return [...found.values()];
}

const isComparable = (member: WatchMember, check: MemberCheck): boolean =>
  check.sweep !== undefined &&
  check.cause === 'schedule' &&
  !isNewMember(member) &&
  member.rules?.name === check.rules &&
  (member.vaults ?? []).length === 0 &&
  judgeAge(member, check) === 'current';

/** By role, its contract, where the balance of one contract alone decides on it. */
function contractsByRole(ruleSet: RuleSet): ReadonlyMap<string, Contract> {
  const contracts = new Map<string, Contract>();
  for (const [roleId, rules] of Map.groupBy(rulesOf(ruleSet), (rule) => rule.roleId)) {
    const [rule] = rules;
    if (rules.length > 1 || !rule || !('contractAddress' in rule) || rule.type === 'CONTRACT') continue;
    const { chainId, contractAddress } = rule;
    if (contractAddress !== undefined)
      contracts.set(roleId, { chainId, contractAddress: contractAddress.toLowerCase() });
  }
  return contracts;
}
