import type { Command } from 'commander';
import { presentRuleSet, type RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { ServiceError } from '#shared/errors.ts';
import { summaryOf } from '../../features/rule-sets/handle-rule-sets.ts';
import { adderTo, type Run } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

const PAGE_COUNT_MAX = 200;

async function listRuleSets({ apps, ruleSets }: OpenSystem, clientId: string) {
  await apps.read(clientId);
  const all: RuleSet[] = [];
  for (let hasMore = true; hasMore; ) {
    const after = all.at(-1)?.id;
    const page = await ruleSets.list(clientId, {
      countMax: PAGE_COUNT_MAX,
      ...(after !== undefined && { after }),
    });
    all.push(...page.ruleSets);
    hasMore = page.hasMore;
  }
  return all.map(summaryOf);
}

async function showRuleSet({ apps, ruleSets }: OpenSystem, clientId: string, id: string) {
  await apps.read(clientId);
  const found = await ruleSets.read(clientId, id);
  if (!found) throw new ServiceError('not-found', `${clientId} has no rule set ${id}`);
  return presentRuleSet(found);
}

export function addRuleSets(program: Command, run: Run): void {
  const add = adderTo(program.command('rule-set').description('stored rule sets of a client app'), run);
  add('list <id>', 'list the rule sets of an app, by id', listRuleSets);
  add('show <id> <ruleSetId>', 'one rule set with its rules', showRuleSet);
}
