import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { presentRuleSet, RULE_SET_ID, type RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { ServiceError } from '#shared/errors.ts';
import { parseJson } from '#shared/parse-json.ts';
import { validateRuleSet } from '#shared/rules/validate-rule-set.ts';
import type { RuleSetContent, RuleSetWrite } from '#shared/stores/rules/write-rule-sets.ts';
import type { OpenSystem } from '../open-system.ts';
import { ACTOR } from './app-commands.ts';

/** Commands about the rule sets of client apps; each value is the output of `--json`. */

type Run = (work: (opened: OpenSystem) => Promise<unknown>) => Promise<void>;

const PAGE_COUNT_MAX = 200;
/** Faults of a file that the error names. */
const FAULTS_MAX = 20;

/** By id, without the rules themselves. */
async function listRuleSets({ apps, ruleSets }: OpenSystem, clientId: string) {
  await apps.read(clientId);
  const all: RuleSet[] = [];
  for (let hasMore = true; hasMore; ) {
    const after = all.at(-1)?.id;
    const page = await ruleSets.list(clientId, {
      countMax: PAGE_COUNT_MAX,
      ...(after === undefined ? {} : { after }),
    });
    all.push(...page.ruleSets);
    hasMore = page.hasMore;
  }
  return all.map((ruleSet) => {
    const { rules, ...shown } = presentRuleSet(ruleSet);
    return { ...shown, ruleCount: rules.length };
  });
}

/** @throws ServiceError `not-found` */
async function showRuleSet({ apps, ruleSets }: OpenSystem, clientId: string, id: string) {
  await apps.read(clientId);
  const found = await ruleSets.read(clientId, id);
  if (!found) throw new ServiceError('not-found', `${clientId} has no rule set ${id}`);
  return presentRuleSet(found);
}

/** Stores the content of a JSON file, as `PUT /access-control/rule-sets/{id}` takes it. @throws ServiceError `usage-invalid` */
async function putRuleSet(system: OpenSystem, clientId: string, id: string, file: string) {
  if (!RULE_SET_ID.test(id))
    throw new ServiceError('usage-invalid', `the id of a rule set must match ${RULE_SET_ID.source}`);
  const { write, isEnterprise } = await writeOf(system, clientId, id);
  const { ruleSet, isNew } = await system.ruleSetWrites.put(write, readContent(system, file, isEnterprise));
  return { ...presentRuleSet(ruleSet), created: isNew };
}

async function deleteRuleSet(system: OpenSystem, clientId: string, id: string) {
  const { write } = await writeOf(system, clientId, id);
  await system.ruleSetWrites.remove(write);
  return { ruleSetId: id, deleted: true };
}

async function writeOf(
  { apps, accounts }: OpenSystem,
  clientId: string,
  id: string,
): Promise<{ write: RuleSetWrite; isEnterprise: boolean }> {
  const { accountId } = await apps.read(clientId);
  const owner = await accounts.read(accountId);
  if (!owner) throw new ServiceError('not-found', `the account of ${clientId} does not exist`);
  const write = { clientId, accountId, id, actor: ACTOR, limits: limitsOf(owner) };
  return { write, isEnterprise: owner.tier === 'enterprise' };
}

function readContent({ chains }: OpenSystem, file: string, isEnterprise: boolean): RuleSetContent {
  const parsed = parseJson(readBytes(file), file);
  if (!parsed.ok) throw new ServiceError('usage-invalid', parsed.detail);
  const configured = chains();
  const chainIds = configured && new Set(configured.map(({ chainId }) => chainId));
  const validated = validateRuleSet(parsed.json, { isEnterprise, chainIds });
  if (validated.ok) return validated.content;
  const faults = validated.faults.slice(0, FAULTS_MAX).map(({ detail }) => detail);
  throw new ServiceError('usage-invalid', `${file} is not a rule set: ${faults.join(' ')}`);
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    throw new ServiceError('usage-invalid', `${file} cannot be read`);
  }
}

/** The subcommands of `admin rule-set`. */
export function addRuleSets(program: Command, run: Run): void {
  const ruleSet = program.command('rule-set').description('stored rule sets of a client app');
  ruleSet
    .command('list <clientId>')
    .description('list the rule sets of an app, by id')
    .action((clientId) => run((opened) => listRuleSets(opened, clientId)));
  ruleSet
    .command('show <clientId> <id>')
    .description('one rule set with its rules')
    .action((clientId, id) => run((opened) => showRuleSet(opened, clientId, id)));
  ruleSet
    .command('put <clientId> <id> <file>')
    .description('store the rules of a JSON file: { "name"?, "rules", "onUndetermined"? }')
    .action((clientId, id, file) => run((opened) => putRuleSet(opened, clientId, id, file)));
  ruleSet
    .command('delete <clientId> <id>')
    .description('delete a rule set, unless a watch refers to it')
    .action((clientId, id) => run((opened) => deleteRuleSet(opened, clientId, id)));
}
