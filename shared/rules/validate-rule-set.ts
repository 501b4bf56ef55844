import { z } from 'zod';
import { BODY_FAULTS_MAX, type Fault, faultAt, type Judged } from '#shared/contracts/fault.ts';
import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import { needsMoreReads, READS_MAX } from '#shared/contracts/rules/count-reads.ts';
import { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { type RuleSet, rulesOf } from '#shared/contracts/rules/rule-set.ts';
import type { RuleSetContent } from '#shared/stores/rules/write-rule-sets.ts';
import { Label } from './body-texts.ts';
import { RULES_MAX, RULES_MAX_ENTERPRISE, RuleBodies } from './rule-body.ts';
import { validateBody } from './validate-body.ts';
import type { ChainIds } from './validate-rules.ts';

export const RuleSetBody = z
  .strictObject({
    name: Label.optional(),
    rules: RuleBodies,
    onUndetermined: OnUndetermined.optional(),
  })
  .meta({ id: 'RuleSetBody' });

/** The fewest reads that any check of the rules needs. */
const ONE_WALLET = { account: ZERO_ADDRESS };

type Bounds = { readonly isEnterprise: boolean; readonly chainIds: ChainIds };

/**
 * Validates the body of a rule set and lists every fault by JSON pointer. A rule set may be as
 * large as an asynchronous check allows: whether it fits a check is judged with that check.
 *
 * @param body the result of `JSON.parse`
 */
export function validateRuleSet(body: unknown, { isEnterprise, chainIds }: Bounds): Judged<RuleSetContent> {
  const rulesMax = isEnterprise ? RULES_MAX_ENTERPRISE : RULES_MAX;
  const { faults, parsed } = validateBody(RuleSetBody, body, { rulesMax, chainIds });
  if (faults.length > 0 || !parsed) return refused(faults);
  const { name, rules, onUndetermined = 'omit' } = parsed;
  if (needsMoreReads(ONE_WALLET, rulesOf({ rules }), READS_MAX.bulk)) {
    const detail = `need more than ${READS_MAX.bulk} reads after deduplication; split the rule set`;
    return refused([faultAt('/rules', 'too-many-reads', detail)]);
  }
  // As they were sent: the schema orders their members.
  const { rules: sent } = body as { readonly rules: RuleSet['rules'] };
  return { ok: true, value: { name, rules: sent, onUndetermined } };
}

const refused = (faults: readonly Fault[]): Judged<RuleSetContent> => ({
  ok: false,
  faults: faults.slice(0, BODY_FAULTS_MAX),
});
