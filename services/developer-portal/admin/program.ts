import { Command, Help, InvalidArgumentError, Option } from 'commander';
import type { Environment } from '#shared/config.ts';
import { LIVE_KEYS_MAX } from '#shared/contracts/apps/client-app.ts';
import { RULE_SETS_MAX, WATCH_MEMBERS_MAX, WATCHES_MAX } from '#shared/contracts/apps/tiers.ts';
import { parseDuration } from '../domain/parse-duration.ts';
import { NAME_CHARS_MAX, REASON_CHARS_MAX } from '../http/api.ts';
import * as accounts from './commands/account-commands.ts';
import * as apps from './commands/app-commands.ts';
import { addAudit } from './commands/audit-commands.ts';
import * as batches from './commands/batch-commands.ts';
import * as checks from './commands/check-commands.ts';
import { addProofKeys, type Print } from './commands/proof-key-commands.ts';
import { addRuleSets } from './commands/rule-set-commands.ts';
import * as system from './commands/system-commands.ts';
import { addWatches } from './commands/watch-commands.ts';
import { addWebhooks } from './commands/webhook-commands.ts';
import { addCompletion } from './completion.ts';
import { addExamples } from './examples.ts';
import type { LocalSystem } from './local-system.ts';
import type { OpenSystem } from './open-system.ts';
import { figure, figureUpTo, instant, wholeNumber } from './parse-figures.ts';

/** A subcommand's work on an open system; its value is printed. */
export type Work = (opened: OpenSystem, local: LocalSystem | undefined) => Promise<unknown>;
export type Run = (work: Work) => Promise<void>;

const liveKeys = figureUpTo(LIVE_KEYS_MAX);
const ruleSets = figureUpTo(RULE_SETS_MAX);
const watches = figureUpTo(WATCHES_MAX);
const members = figureUpTo(WATCH_MEMBERS_MAX);
/** Checks only parts that every address has; a stricter check would refuse valid addresses. */
const emailAddress = (text: string): string => {
  if (!/^[^\s@]{1,64}@[^\s@]{1,255}$/.test(text))
    throw new InvalidArgumentError('It must be an e-mail address such as dev@example.com.');
  return text;
};
const vouchOption = () =>
  new Option('--vouch', 'accept an account that signed up by itself: you know its owner').default(false);
/** Text with the same bounds as in the portal's forms. */
const textUpTo =
  (charsMax: number) =>
  (text: string): string => {
    const length = [...text.trim()].length;
    if (length < 1 || length > charsMax)
      throw new InvalidArgumentError(`It must have 1 to ${charsMax} characters.`);
    return text.trim();
  };
const duration = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('It must be a duration such as 90s, 30m, 24h or 7d.');
  return ms;
};

/** Commander tells choices and defaults, and not which options are required. */
const describeOption = (option: Option): string =>
  [new Help().optionDescription(option), ...(option.mandatory ? ['(required)'] : [])].join(' ');

const EXIT_CODES = `
Exit codes:
  0  done
  1  refused, not found, the system cannot be reached, or the command line is wrong; the message says which`;

/** The command line, one line per subcommand. `--json` and `--data` may be anywhere. */
export function makeProgram(run: Run, print: Print, env: Environment, isJson = false): Command {
  const program = new Command('admin')
    .description(
      'Operates a running Rolecall: a local system named by its data directory, or any other named by environment variables.',
    )
    .option('--data <dir>', 'data directory of a local system (default .data)')
    .option('--json', 'print one JSON value, for machines')
    .exitOverride()
    // With `--json` an error is one line of JSON, so Commander must not write its own text.
    .configureOutput(isJson ? { writeErr: () => undefined } : {})
    .configureHelp({ showGlobalOptions: true, optionDescription: describeOption })
    .addHelpText('after', EXIT_CODES);
  addApps(program, run);
  addAccounts(program, run);
  addAudit(program, run);
  addSystem(program, run);
  addChecks(program, run);
  addWebhooks(program, run);
  addRuleSets(program, run);
  addWatches(program, run);
  addProofKeys(program, print, env);
  addCompletion(program, print, [process.execPath, ...process.argv.slice(1, 2)]);
  addExamples(program);
  return program;
}

function addApps(program: Command, run: Run): void {
  const app = program.command('app').description('client apps');
  app
    .command('create')
    .description('create a client app; prints its credentials once')
    .requiredOption('--email <address>', 'e-mail address of the account; created if missing', emailAddress)
    .requiredOption('--name <name>', 'name of the app', textUpTo(NAME_CHARS_MAX))
    .addOption(new Option('--tier <tier>', "the account's tier").choices(['free', 'paid', 'enterprise']))
    .option('--approve', 'approve the token-gating scope at once', false)
    .addOption(vouchOption())
    .action((options) => run((opened) => apps.createApp(opened, options)));
  app
    .command('list')
    .description('list all client apps, oldest first')
    .action(() => run(apps.listApps));
  app
    .command('suspend <id>')
    .description('refuse the requests of an app with 403 until it is resumed')
    .action((id) => run((opened) => apps.suspendApp(opened, id)));
  app
    .command('resume <id>')
    .description('end a suspension')
    .action((id) => run((opened) => apps.resumeApp(opened, id)));
  app
    .command('delete <id>')
    .description('delete an app and revoke its keys; accepted checks are still delivered')
    .action((id) => run((opened) => apps.deleteApp(opened, id)));

  const key = program.command('key').description('API keys of a client app');
  key
    .command('create <id>')
    .description('create an API key; prints it once')
    .option('--name <name>', 'name of the key', textUpTo(NAME_CHARS_MAX), 'key')
    .option('--marketplace', 'a key for a third party; counts against the limit of the account', false)
    .action((id, options) => run((opened) => apps.createKey(opened, id, options)));
  key
    .command('list <id>')
    .description('list the keys of an app, including revoked keys')
    .action((id) => run((opened) => apps.listKeys(opened, id)));
  key
    .command('revoke <id> <key>')
    .description('revoke a key; requests with it are refused within a second')
    .action((id, keyId) => run((opened) => apps.revokeKey(opened, id, keyId)));

  const secret = program.command('secret').description('webhook secrets');
  secret
    .command('reseal')
    .description(
      'encrypt all stored secrets again with the newest key of ROLECALL_SECRET_KEYS; their values stay the same',
    )
    .action(() => run(apps.resealSecrets));
  secret
    .command('rotate <id>')
    .description('create a new webhook secret; prints it once; earlier secrets sign for the overlap')
    .option('--overlap <duration>', 'how long the earlier secrets still sign', duration, 86_400_000)
    .action((id, { overlap }) => run((opened) => apps.rotateSecret(opened, id, overlap)));

  const scope = program.command('scope').description('requests for the token-gating scope');
  scope
    .command('list')
    .description('list the apps that requested the scope')
    .action(() => run(apps.listScopes));
  scope
    .command('approve <id>')
    .description('allow the app to request checks')
    .action((id) => run((opened) => apps.approveScope(opened, id)));
  scope
    .command('reject <id>')
    .description('refuse the request, with a reason')
    .requiredOption('--reason <text>', 'the reason shown to the developer', textUpTo(REASON_CHARS_MAX))
    .action((id, { reason }) => run((opened) => apps.rejectScope(opened, id, reason)));

  program
    .command('tier')
    .description("accounts' tiers")
    .command('set <email>')
    .description('set the tier of an account and the limits of all its apps')
    .argument('<tier>', 'free, paid or enterprise', (text) => {
      if (text !== 'free' && text !== 'paid' && text !== 'enterprise')
        throw new InvalidArgumentError('It must be free, paid or enterprise.');
      return text;
    })
    .option('--rps <n>', 'enterprise: requests per second of each app', figure)
    .option('--month <n>', 'enterprise: checks per month of each app', figure)
    .option('--apps <n>', 'enterprise: client apps', figure)
    .option('--keys <n>', 'enterprise: marketplace keys', figure)
    .option('--live-keys <n>', `enterprise: live keys of each app, at most ${LIVE_KEYS_MAX}`, liveKeys)
    .option('--rule-sets <n>', `enterprise: rule sets of each app, at most ${RULE_SETS_MAX}`, ruleSets)
    .option('--watches <n>', `enterprise: watches of each app, at most ${WATCHES_MAX}`, watches)
    .option(
      '--members <n>',
      `enterprise: members of all watches of each app, at most ${WATCH_MEMBERS_MAX}`,
      members,
    )
    .option(
      '--writes <n>',
      'enterprise: writes of rule sets, watches and members of each app in a day',
      figure,
    )
    .addOption(vouchOption())
    .action((email, tier, options) => run((opened) => apps.setTier(opened, email, tier, options)));
}

function addAccounts(program: Command, run: Run): void {
  const account = program.command('account').description("developers' and operators' accounts of the portal");
  account
    .command('list')
    .description('list all accounts, by e-mail address')
    .option('--query <text>', 'only addresses that contain this text')
    .action(({ query }) => run((opened) => accounts.listAccounts(opened, query)));
  account
    .command('operator <email>')
    .description(
      'allow an account to approve scopes, set tiers and suspend apps in the portal; ends its sessions and prints a new password',
    )
    .option('--withdraw', 'withdraw the operator rights', false)
    .addOption(vouchOption())
    .action((email, { withdraw, vouch }) =>
      run((opened) =>
        withdraw
          ? accounts.withdrawOperator(opened, email, { vouch })
          : accounts.grantOperator(opened, email, { vouch }),
      ),
    );
  account
    .command('reset-password <email>')
    .description('set a new password for an account, print it once, and end its sessions')
    .addOption(vouchOption())
    .action((email, options) => run((opened) => accounts.resetPassword(opened, email, options)));
  account
    .command('reset-link <email>')
    .description(
      'make a link for a new password, valid for an hour; without PORTAL_ORIGIN the link is a path of the portal',
    )
    .addOption(vouchOption())
    .action((email, options) => run((opened) => accounts.makeResetLink(opened, email, options)));
  account
    .command('reset-two-factor <email>')
    .description('turn the second factor of an account off and end its sessions; the password stays')
    .addOption(vouchOption())
    .action((email, options) => run((opened) => accounts.resetTwoFactor(opened, email, options)));
  account
    .command('delete <email>')
    .description('delete an account and its client apps')
    .addOption(vouchOption())
    .action((email, options) => run((opened) => accounts.deleteAccount(opened, email, options)));
}

function addSystem(program: Command, run: Run): void {
  program
    .command('status')
    .description('processes, RPC endpoints of a local system, and the lag of each consumer group')
    .action(() => run(system.status));
  program
    .command('topics')
    .description('topics of the broker')
    .command('apply')
    .description('create missing topics, and set the others to their declared configuration')
    .action(() => run(system.applyDeclaredTopics));
  program
    .command('store')
    .description('the Redis views')
    .command('rebuild')
    .description('rebuild the Redis views from the topics')
    .action(() => run(system.rebuildStore));

  const deadLetter = program.command('dead-letter').description('dead-lettered records, by source topic');
  deadLetter
    .command('list <topic>')
    .description('list the records that are neither redriven nor discarded')
    .action((topic) => run((opened) => system.listRecords(opened, topic)));
  deadLetter
    .command('inspect <topic>')
    .description('one record with its content')
    .argument('<partition>', '', wholeNumber)
    .argument('<offset>', '', wholeNumber)
    .action((topic, partition, offset) =>
      run((opened) => system.inspectRecord(opened, topic, partition, offset)),
    );
  deadLetter
    .command('redrive <topic>')
    .description('publish the records to their source topic again')
    .option('--since <instant>', 'only records that failed at this instant or later', instant, 0)
    .action((topic, { since }) => run((opened) => system.redriveRecords(opened, topic, since)));
  deadLetter
    .command('discard <topic>')
    .description('settle one record without redriving it')
    .argument('<partition>', '', wholeNumber)
    .argument('<offset>', '', wholeNumber)
    .action((topic, partition, offset) =>
      run((opened) => system.discardRecord(opened, topic, partition, offset)),
    );
}

function addChecks(program: Command, run: Run): void {
  const check = program.command('check').description('results of checks');
  check
    .command('show <requestId>')
    .description('show a check: its app, request, steps, stored result and the attempts of its webhook')
    .action((id) => run((opened) => checks.showCheck(opened, id)));
  const batch = program.command('batch').description('batches');
  batch
    .command('show <requestId>')
    .description('show the status of a batch, its stored parts and the attempts of its webhook')
    .action((id) => run((opened) => batches.showBatch(opened, id)));
}
