import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { presentRuleSet, RULE_SET_ID, type RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { validationFailed } from '#shared/http/problem.ts';
import { validateRuleSet } from '#shared/rules/validate-rule-set.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call, Handlers } from '../../http/operations.ts';
import { existing } from '../basis.ts';
import type { RULE_SET_OPERATIONS } from './rule-set-operations.ts';

const PAGE_COUNT_MAX = 100;

type Ids = keyof typeof RULE_SET_OPERATIONS;

export function makeRuleSetHandlers({ ruleSets, ruleSetWrites, chains }: Dependencies): Handlers<Ids> {
  const chainIds = chains.length === 0 ? undefined : new Set(chains.map(({ chainId }) => chainId));
  return {
    async listRuleSets({ app: { clientId }, query: { after } }) {
      const { ruleSets: found, next } = await ruleSets.list(clientId, { countMax: PAGE_COUNT_MAX, after });
      return { ruleSets: found.map(summaryOf), next };
    },
    async readRuleSet({ app: { clientId }, param }) {
      const found = await ruleSets.read(clientId, param('ruleSetId'));
      return presentRuleSet(existing(found, 'there is no such rule set'));
    },
    async putRuleSet(call) {
      const { ruleSet, replaces } = call.body;
      const isEnterprise = call.owner.tier === 'enterprise';
      const validated = validateRuleSet(ruleSet, { isEnterprise, chainIds });
      const faults = [
        ...(RULE_SET_ID.test(call.param('ruleSetId')) ? [] : [MALFORMED_ID]),
        ...(validated.ok ? [] : validated.faults.slice(0, FAULTS_MAX)),
      ];
      if (!validated.ok || faults.length > 0) throw validationFailed(faults);
      const mayWrite = (version: number | undefined) => (version ?? 0) === replaces;
      const write = { ...writeOf(call), ...(replaces !== undefined && { mayWrite }) };
      return presentRuleSet((await ruleSetWrites.put(write, validated.value)).ruleSet);
    },
    async deleteRuleSet(call) {
      await ruleSetWrites.remove(writeOf(call));
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

const writeOf = ({ account, app, owner, param }: Pick<Call<Ids>, 'account' | 'app' | 'owner' | 'param'>) => ({
  clientId: app.clientId,
  accountId: app.accountId,
  id: param('ruleSetId'),
  actor: account.accountId,
  limits: limitsOf(owner),
});

export function summaryOf(ruleSet: RuleSet) {
  const { rules, ...shown } = presentRuleSet(ruleSet);
  return { ...shown, ruleCount: rules.length };
}
