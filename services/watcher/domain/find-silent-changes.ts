import { type RuleSet, rulesOf } from '#shared/contracts/rules/rule-set.ts';
import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import { type Answer, judgeAnswer, type Present } from './judge-answer.ts';

type Contract = { readonly chainId: number; readonly contractAddress: string };
/** A member whose role a scheduled sweep found changed, where the balance of one contract alone
 * decides on the role. */
type Found = Contract & { readonly member: WatchMember; readonly answer: Answer };

/**
 * The changes of a sweep that a transfer should have told of before; one for each contract.
 * Delegations of vaults and rules that depend on more than one balance can change a role without a
 * transfer of the contract, and are left out.
 */
export function findSilentChanges(
  members: readonly WatchMember[],
  answers: ReadonlyMap<string, Answer>,
  ruleSet: RuleSet,
  present: Present,
): Found[] {
  const found = new Map<string, Found>();
  let contracts: ReadonlyMap<string, Contract> | undefined;
  for (const member of members) {
    const answer = answers.get(member.memberId);
    if (!answer || !isComparable(member, answer, present)) continue;
    for (const { id, granted, heldBack } of member.roles) {
      const verdict = answer.verdicts.get(id);
      if (verdict === undefined || verdict === granted || heldBack) continue;
      // Parsed once, and only if a role has changed.
      contracts ??= contractsByRole(ruleSet);
      const contract = contracts.get(id);
      if (contract)
        found.set(`${contract.chainId}/${contract.contractAddress}`, { ...contract, member, answer });
    }
  }
  return [...found.values()];
}

const isComparable = (member: WatchMember, answer: Answer, present: Present): boolean =>
  answer.sweep !== undefined &&
  answer.why.cause === 'schedule' &&
  member.checked?.rules === answer.rules &&
  (member.wallets.vaults ?? []).length === 0 &&
  judgeAnswer(member, answer, present) === 'applied';

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
