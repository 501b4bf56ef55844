import { Command, InvalidArgumentError, Option } from 'commander';
import { LIVE_KEYS_MAX } from '#shared/contracts/client-app.ts';
import { WebhookState } from '#shared/contracts/webhook.ts';
import { NAME_CHARS_MAX, REASON_CHARS_MAX } from '../api.ts';
import { parseDuration } from '../domain/parse-duration.ts';
import * as accounts from './account-commands.ts';
import * as apps from './app-commands.ts';
import type { LocalSystem } from './local-system.ts';
import type { OpenSystem } from './open-system.ts';
import * as system from './system-commands.ts';
import * as webhooks from './webhook-commands.ts';

/** What a subcommand does with an open system; its value is printed. */
export type Work = (opened: OpenSystem, local: LocalSystem | undefined) => Promise<unknown>;
export type Run = (work: Work) => Promise<void>;

const wholeNumber = (text: string): number => {
  if (!/^[0-9]{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
};
/** A limit of nothing would be a suspension by another name. */
const figure = (text: string): number => {
  const count = wholeNumber(text);
  if (count < 1) throw new InvalidArgumentError('It must be at least 1.');
  return count;
};
const liveKeys = (text: string): number => {
  const count = figure(text);
  if (count > LIVE_KEYS_MAX) throw new InvalidArgumentError(`It must be at most ${LIVE_KEYS_MAX}.`);
  return count;
};
const instant = (text: string): number => {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new InvalidArgumentError('It must be an ISO instant, 2026-11-21T10:00:00Z.');
  return ms;
};
/** Only what every address has: more would refuse real ones. */
const emailAddress = (text: string): string => {
  if (!/^[^\s@]{1,64}@[^\s@]{1,255}$/.test(text))
    throw new InvalidArgumentError('It must be an e-mail address.');
  return text;
};
const vouchOption = () =>
  new Option('--vouch', 'the account signed up by itself, and you know whose it is').default(false);
/** The same bounds as the portal's own forms. */
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
  if (ms === undefined) throw new InvalidArgumentError('It must be a span such as 90s, 30m, 24h or 7d.');
  return ms;
};

/** The command line, one line per subcommand. `--json` and `--data` may stand anywhere. */
export function makeProgram(run: Run, isJson = false): Command {
  const program = new Command('admin')
    .description(
      'Operates a running Rolecall: a local one by its data directory, any other by its environment.',
    )
    .option('--data <dir>', 'data directory of a local system (default .data)')
    .option('--json', 'print one JSON value')
    .exitOverride()
    // A program gets one line of JSON, and Commander's own words are not that.
    .configureOutput(isJson ? { writeErr: () => undefined } : {})
    .configureHelp({ showGlobalOptions: true });
  addApps(program, run);
  addAccounts(program, run);
  addSystem(program, run);
  addWebhooks(program, run);
  return program;
}

function addApps(program: Command, run: Run): void {
  const app = program.command('app').description('client apps');
  app
    .command('create')
    .description('make a client app; its credentials are printed this once')
    .requiredOption('--email <address>', 'the account; made if it is missing', emailAddress)
    .requiredOption('--name <name>', 'what the app is called', textUpTo(NAME_CHARS_MAX))
    .addOption(new Option('--tier <tier>', "the account's tier").choices(['free', 'paid', 'enterprise']))
    .option('--approve', 'approve the token-gating scope at once', false)
    .addOption(vouchOption())
    .action((options) => run((opened) => apps.createApp(opened, options)));
  app
    .command('list')
    .description('all client apps, oldest first')
    .action(() => run(apps.listApps));
  app
    .command('suspend <id>')
    .description('refuse its requests with 403 until it is resumed')
    .action((id) => run((opened) => apps.suspendApp(opened, id)));
  app
    .command('resume <id>')
    .description('end a suspension')
    .action((id) => run((opened) => apps.resumeApp(opened, id)));
  app
    .command('delete <id>')
    .description('revoke its keys for ever; what it has accepted is still delivered')
    .action((id) => run((opened) => apps.deleteApp(opened, id)));

  const key = program.command('key').description('API keys of a client app');
  key
    .command('create <id>')
    .description('make an API key, printed this once')
    .option('--name <name>', 'what the key is for', textUpTo(NAME_CHARS_MAX), 'key')
    .option('--marketplace', 'handed to a third party, counted per account', false)
    .action((id, options) => run((opened) => apps.createKey(opened, id, options)));
  key
    .command('list <id>')
    .description('its keys, revoked ones too')
    .action((id) => run((opened) => apps.listKeys(opened, id)));
  key
    .command('revoke <id> <key>')
    .description('refuse the key within a second')
    .action((id, keyId) => run((opened) => apps.revokeKey(opened, id, keyId)));

  const secret = program.command('secret').description('webhook secrets');
  secret
    .command('reseal')
    .description(
      'seal all secrets at rest with the newest key of ROLECALL_SECRET_KEYS; they stay what they are',
    )
    .action(() => run(apps.resealSecrets));
  secret
    .command('rotate <id>')
    .description('make a new webhook secret, printed this once; the ones before it sign on for a while')
    .option('--overlap <span>', 'how long the secrets before it sign on', duration, 86_400_000)
    .action((id, { overlap }) => run((opened) => apps.rotateSecret(opened, id, overlap)));

  const scope = program.command('scope').description('requests for the token-gating scope');
  scope
    .command('list')
    .description('apps that wait for an answer')
    .action(() => run(apps.listScopes));
  scope
    .command('approve <id>')
    .description('let the app ask for checks')
    .action((id) => run((opened) => apps.approveScope(opened, id)));
  scope
    .command('reject <id>')
    .description('refuse the request, with a reason')
    .requiredOption('--reason <text>', 'told to the developer', textUpTo(REASON_CHARS_MAX))
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
    .addOption(vouchOption())
    .action((email, tier, options) => run((opened) => apps.setTier(opened, email, tier, options)));
}

function addAccounts(program: Command, run: Run): void {
  const account = program.command('account').description("developers' and operators' accounts of the portal");
  account
    .command('list')
    .description('all accounts, by e-mail address')
    .option('--query <text>', 'only addresses that hold it')
    .action(({ query }) => run((opened) => accounts.listAccounts(opened, query)));
  account
    .command('operator <email>')
    .description(
      'let an account approve scopes, set tiers and suspend apps in the portal; ends its sessions and prints a new password',
    )
    .option('--withdraw', 'no longer', false)
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
    .description('give an account a new password, printed this once, and end its sessions')
    .addOption(vouchOption())
    .action((email, options) => run((opened) => accounts.resetPassword(opened, email, options)));
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
    .description('create the topics that are missing, set the others as declared')
    .action(() => run(system.applyDeclaredTopics));
  program
    .command('store')
    .description('the Redis views')
    .command('rebuild')
    .description('make the Redis views again from the topics')
    .action(() => run(system.rebuildStore));

  const letters = program
    .command('dead-letter')
    .description('records that could not be worked, by source topic');
  letters
    .command('list <topic>')
    .description('those that are neither sent again nor discarded')
    .action((topic) => run((opened) => system.listLetters(opened, topic)));
  letters
    .command('inspect <topic>')
    .description('one letter with its content')
    .argument('<partition>', '', wholeNumber)
    .argument('<offset>', '', wholeNumber)
    .action((topic, partition, offset) =>
      run((opened) => system.inspectLetter(opened, topic, partition, offset)),
    );
  letters
    .command('redrive <topic>')
    .description('send letters again to their topic')
    .option('--since <instant>', 'only those that failed then or later', instant, 0)
    .action((topic, { since }) => run((opened) => system.redriveLetters(opened, topic, since)));
  letters
    .command('discard <topic>')
    .description('settle one letter without sending it again')
    .argument('<partition>', '', wholeNumber)
    .argument('<offset>', '', wholeNumber)
    .action((topic, partition, offset) =>
      run((opened) => system.discardLetter(opened, topic, partition, offset)),
    );
}

function addWebhooks(program: Command, run: Run): void {
  const webhook = program.command('webhook').description('deliveries');
  webhook
    .command('show <requestId>')
    .description('one delivery with its attempts')
    .action((id) => run((opened) => webhooks.showWebhook(opened, id)));
  webhook
    .command('list <id>')
    .description("a client app's deliveries, newest first")
    .addOption(new Option('--state <state>', 'only these').choices(WebhookState.options))
    .action((id, { state }) => run((opened) => webhooks.listWebhooks(opened, id, state)));
  webhook
    .command('resend <requestId>')
    .description('deliver it again, the same bytes under the same id')
    .action((id) => run((opened) => webhooks.resendWebhook(opened, id)));
  webhook
    .command('resend-failed <id>')
    .description("deliver all of a client app's failed ones again")
    .requiredOption('--since <instant>', 'exhausted or stopped then or later', instant)
    .action((id, { since }) => run((opened) => webhooks.resendFailed(opened, id, since)));
}
