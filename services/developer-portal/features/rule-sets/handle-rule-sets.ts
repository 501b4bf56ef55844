import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { presentRuleSet, RULE_SET_ID, type RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { ServiceError } from '#shared/errors.ts';
import { validationFailed } from '#shared/http/problem.ts';
import { validateRuleSet } from '#shared/rules/validate-rule-set.ts';
import type { RuleSetWrite } from '#shared/stores/rules/write-rule-sets.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Handlers } from '../../http/call.ts';
import type { RULE_SET_OPERATIONS } from './rule-set-operations.ts';

const PAGE_COUNT_MAX = 100;

/** Developers' operations on the rule sets of their apps: those that the gateway offers by an API
 * key. */
export function makeRuleSetHandlers({
  ruleSets,
  ruleSetWrites,
  chains,
}: Dependencies): Handlers<keyof typeof RULE_SET_OPERATIONS> {
  const chainIds = chains.length === 0 ? undefined : new Set(chains.map(({ chainId }) => chainId));
  return {
    async listRuleSets({ app: { clientId }, query: { after } }) {
      const page = { countMax: PAGE_COUNT_MAX, ...(after !== undefined && { after }) };
      const { ruleSets: found, hasMore } = await ruleSets.list(clientId, page);
      const next = found.at(-1)?.id;
      return { ruleSets: found.map(summaryOf), ...(hasMore && next !== undefined && { next }) };
    },
    async readRuleSet({ app: { clientId }, param }) {
      const found = await ruleSets.read(clientId, param('ruleSetId'));
      if (!found) throw new ServiceError('not-found', 'there is no such rule set');
      return presentRuleSet(found);
    },
    async putRuleSet({ account, app, owner, param, body: { ruleSet, replaces } }) {
      const id = param('ruleSetId');
      const isEnterprise = owner.tier === 'enterprise';
      const validated = validateRuleSet(ruleSet, { isEnterprise, chainIds });
      const faults = [
        ...(RULE_SET_ID.test(id) ? [] : [MALFORMED_ID]),
        ...(validated.ok ? [] : validated.faults.slice(0, FAULTS_MAX)),
      ];
      if (!validated.ok || faults.length > 0) throw validationFailed(faults);
      const mayWrite = (version: number | undefined) => (version ?? 0) === replaces;
      const write = {
        ...writeOf({ account, owner }, app, id),
        ...(replaces === undefined ? {} : { mayWrite }),
      };
      return presentRuleSet((await ruleSetWrites.put(write, validated.value)).ruleSet);
    },
    async deleteRuleSet({ account, app, owner, param }) {
      await ruleSetWrites.remove(writeOf({ account, owner }, app, param('ruleSetId')));
    },
  };
}

const FAULTS_MAX = 100;
const MALFORMED_ID = {
  pointer: '/id',
  code: 'malformed',
  detail:
    'An id has 1 to 64 characters of a to z, 0 to 9, ".", "_" and "-", and begins with a letter or a digit.',
} as const;

const writeOf = (
  { account, owner }: { readonly account: Account; readonly owner: Account },
  { clientId, accountId }: ClientApp,
  id: string,
): RuleSetWrite => ({
  clientId,
  accountId,
  id,
  actor: account.accountId,
  limits: limitsOf(owner),
});

export function summaryOf(ruleSet: RuleSet) {
  const { rules, ...shown } = presentRuleSet(ruleSet);
  return { ...shown, ruleCount: rules.length };
}
