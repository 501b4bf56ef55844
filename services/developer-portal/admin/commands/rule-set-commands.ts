import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { presentRuleSet, RULE_SET_ID, type RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { ServiceError } from '#shared/errors.ts';
import { parseJson } from '#shared/parse-json.ts';
import { validateRuleSet } from '#shared/rules/validate-rule-set.ts';
import { summaryOf } from '../../features/rule-sets/handle-rule-sets.ts';
import { adderTo, type Run } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

const PAGE_COUNT_MAX = 200;
/** Faults of a file that the error names. */
const FAULTS_MAX = 20;

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

/** Stores the content of a JSON file, as `PUT /access-control/rule-sets/{id}` takes it.
 * @throws ServiceError `usage-invalid` */
async function putRuleSet(system: OpenSystem, clientId: string, id: string, file: string) {
  if (!RULE_SET_ID.test(id))
    throw new ServiceError('usage-invalid', `the id of a rule set must match ${RULE_SET_ID.source}`);
  const owner = await ownerOf(system, clientId);
  const parsed = parseJson(readBytes(file), file);
  if (!parsed.ok) throw new ServiceError('usage-invalid', parsed.detail);
  const configured = system.chains();
  const chainIds = configured && new Set(configured.map(({ chainId }) => chainId));
  const validated = validateRuleSet(parsed.json, { isEnterprise: owner.tier === 'enterprise', chainIds });
  if (!validated.ok) {
    const faults = validated.faults.slice(0, FAULTS_MAX).map(({ detail }) => detail);
    throw new ServiceError('usage-invalid', `${file} is not a rule set: ${faults.join(' ')}`);
  }
  const write = { clientId, accountId: owner.accountId, id, actor: system.actor, limits: limitsOf(owner) };
  const { ruleSet, isNew } = await system.ruleSetWrites.put(write, validated.content);
  return { ...presentRuleSet(ruleSet), created: isNew };
}

async function ownerOf({ apps, accounts }: OpenSystem, clientId: string) {
  const owner = await accounts.read((await apps.read(clientId)).accountId);
  if (!owner) throw new ServiceError('not-found', `the account of ${clientId} does not exist`);
  return owner;
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    throw new ServiceError('usage-invalid', `${file} cannot be read`);
  }
}

export function addRuleSets(program: Command, run: Run): void {
  const add = adderTo(program.command('rule-set').description('stored rule sets of a client app'), run);
  add('list <id>', 'list the rule sets of an app, by id', listRuleSets);
  add('show <id> <ruleSetId>', 'one rule set with its rules', showRuleSet);
  add(
    'put <id> <ruleSetId> <file>',
    'store the rules of a JSON file: { "name"?, "rules", "onUndetermined"? }',
    putRuleSet,
  );
  add(
    'delete <id> <ruleSetId>',
    'delete a rule set, unless a watch refers to it',
    async (system, clientId: string, id: string) => {
      const { accountId, ...owner } = await ownerOf(system, clientId);
      const limits = limitsOf(owner);
      await system.ruleSetWrites.remove({ clientId, accountId, id, actor: system.actor, limits });
      return { ruleSetId: id, deleted: true };
    },
  );
}
