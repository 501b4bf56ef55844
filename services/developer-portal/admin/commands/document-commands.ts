import type { Command } from 'commander';
import { presentRuleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Watch } from '#shared/contracts/watches/watch.ts';
import { existing } from '../../features/basis.ts';
import { summaryOf } from '../../features/rule-sets/handle-rule-sets.ts';
import { Email } from '../../http/api.ts';
import { adderTo, addGroup, formText, type Run } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';
import { exportSystem } from '../transfer/export-system.ts';
import { importSystem } from '../transfer/import-system.ts';
import { findAccount } from './account-commands.ts';
import { requireApp } from './check-commands.ts';

/** More than an app of any tier has. */
const WATCHES_MAX = 10_000;
/** Events that are printed. */
const EVENTS_MAX = 100;

async function listRuleSets({ apps, ruleSets }: OpenSystem, clientId: string) {
  await apps.read(clientId);
  return (await Array.fromAsync(ruleSets.pagesOf(clientId))).flat().map(summaryOf);
}

async function showRuleSet({ apps, ruleSets }: OpenSystem, clientId: string, id: string) {
  await apps.read(clientId);
  const found = await ruleSets.read(clientId, id);
  return presentRuleSet(existing(found, `${clientId} has no rule set ${id}`));
}

const readWatch = async ({ watches }: OpenSystem, clientId: string, watchId: string): Promise<Watch> =>
  existing(await watches.read(clientId, watchId), `the client app ${clientId} has no watch ${watchId}`);

export function addDocuments(program: Command, run: Run): void {
  const addRuleSet = addGroup(program, run, 'rule-set', 'stored rule sets of a client app');
  addRuleSet('list <id>', listRuleSets).description('list the rule sets of an app, by id');
  addRuleSet('show <id> <ruleSetId>', showRuleSet).description('one rule set with its rules');
  const addWatch = addGroup(program, run, 'watch', 'watches of client apps');
  addWatch('list <id>', async ({ clientApps, watches, watchWrites }, clientId: string) => {
    await requireApp(clientApps, clientId);
    return watchWrites.presentMany((await watches.list(clientId, { countMax: WATCHES_MAX })).watches);
  }).description("a client app's watches");
  addWatch('show <id> <watchId>', async (system, id: string, watchId: string) =>
    system.watchWrites.present(await readWatch(system, id, watchId)),
  ).description('one watch: its state, held revocations, and how its contracts are followed');
  // An option, because the audit trail has arguments, and must not have members.
  addWatch(
    'events <id> <watchId>',
    async (system, id: string, watchId: string, { member }: { member?: string }) => {
      const watch = await readWatch(system, id, watchId);
      return (await system.readWatchEvents(watch, { member, countMax: EVENTS_MAX })).events;
    },
  )
    .description('the newest events of the last 72 hours: why roles changed, and whether the client was told')
    .option('--member <text>', 'only those of the member with this ref or account');
  const act = (action: 'pause' | 'resume' | 'release') =>
    addWatch(`${action} <id> <watchId>`, async (system, id: string, watchId: string) => {
      const { accountId } = await readWatch(system, id, watchId);
      const request = { clientId: id, accountId, watchId, actor: system.actor };
      return system.watchWrites.present(await system.watchWrites[action](request));
    });
  act('pause').description('check no members and send nothing until it is resumed');
  act('resume').description('check all members now, and continue');
  act('release').description('send the revocations that are held');
  const add = adderTo(program, run);
  add('export', async (system, { account, ...options }: { account?: string; withoutUnreadable: boolean }) =>
    exportSystem(system, { ...options, ...(account && (await findAccount(system, account))) }),
  )
    .description(
      'print accounts, client apps, rule sets, watches and members as NDJSON, with hashes of keys and passwords, and secrets as they are encrypted',
    )
    .option('--account <email>', 'only this account and what belongs to it', formText(Email))
    .option(
      '--without-unreadable',
      'leave out records that cannot be read; the last line counts them',
      false,
    );
  add('import <file>', importSystem).description(
    'import an export: nothing unless the whole file is valid; what the system has in the same or a newer version stays',
  );
}
