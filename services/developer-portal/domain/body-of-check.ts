import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import type { Consistency } from '#shared/contracts/rules/rule.ts';

/**
 * The body to send a check again: the wallets, rules and options of the accepted request. Members
 * with their default are left out, and so are `name` and `description`, which messages do not
 * contain. The rules of a rule set are those of the version at acceptance.
 *
 * @example
 * bodyOfCheck(message); // { account: '0x…', explain: true, rules: [ … ] }
 */
export function bodyOfCheck(check: CheckRequested): Record<string, unknown> {
  const { account, accounts, vaults, rules, explain, proof, onUndetermined, delivery } = check;
  const consistency = consistencyOf(check.consistency);
  return {
    ...(accounts ? { accounts } : { account }),
    ...(vaults && vaults.length > 0 && { vaults }),
    ...(onUndetermined !== 'omit' && { onUndetermined }),
    ...(Object.keys(consistency).length > 0 && { consistency }),
    ...(explain && { explain }),
    ...(proof && { proof: true, proofSeconds: proof.seconds, proofAlg: proof.alg }),
    ...(delivery.mode === 'poll' && { async: true }),
    ...(delivery.mode === 'webhook' && { callbackUrl: delivery.callbackUrl }),
    rules,
  };
}

const consistencyOf = ({ blockTag, minBlock, atBlock = {} }: Consistency): Record<string, unknown> => ({
  ...(blockTag !== 'latest' && { blockTag }),
  ...(Object.keys(minBlock).length > 0 && { minBlock }),
  ...(Object.keys(atBlock).length > 0 && { atBlock }),
});
