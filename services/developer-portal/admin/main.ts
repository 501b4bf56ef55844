import { resolve } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { describeError } from '#shared/errors.ts';
import * as commands from './commands.ts';
import { type LocalSystem, loadLocalSystem } from './local-system.ts';
import { type OpenSystem, openSystem } from './open-system.ts';

// The operator's command. Every subcommand opens the system, does one thing, prints one value.
type Run = (system: OpenSystem, local: LocalSystem | undefined) => Promise<unknown>;

const program = new Command('admin')
  .description(
    'Operates a running Rolecall: a local one by its data directory, any other by its environment.',
  )
  .option('--data <dir>', 'data directory of a local system')
  .option('--json', 'print one JSON value')
  .exitOverride()
  .configureHelp({ showGlobalOptions: true });

async function run(work: Run): Promise<void> {
  const { json, data } = program.opts<{ json?: boolean; data?: string }>();
  const isRemote = data === undefined && Boolean(process.env['KAFKA_BROKERS']);
  const local = isRemote ? undefined : loadLocalSystem(resolve(data ?? '.data'));
  await using system = await openSystem({ ...process.env, ...local?.environment });
  const value = await work(system, local);
  process.stdout.write(`${json ? JSON.stringify(value) : JSON.stringify(value, null, 2)}\n`);
}

const wholeNumber = (text: string): number => {
  if (!/^[0-9]{1,15}$/.test(text)) throw new InvalidArgumentError('not a whole number');
  return Number(text);
};
const instant = (text: string): number => {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new InvalidArgumentError('not an ISO instant');
  return ms;
};

const app = program.command('app').description('client apps');
app
  .command('create')
  .requiredOption('--email <address>', 'the account; made if it is missing')
  .requiredOption('--name <name>', 'what the app is called')
  .addOption(new Option('--tier <tier>', "the account's tier").choices(['free', 'paid', 'enterprise']))
  .option('--approve', 'approve the token-gating scope at once', false)
  .action((options) => run((system) => commands.createApp(system, options)));
app.command('list').action(() => run((system) => commands.listApps(system)));

program.command('status').action(() => run((system, local) => commands.status(system, local)));

program
  .command('topics')
  .command('apply')
  .description('create the topics that are missing, set the others as declared')
  .action(() => run((system) => commands.applyDeclaredTopics(system)));

program
  .command('store')
  .command('rebuild')
  .description('make the Redis views again from the topics')
  .action(() => run((system) => commands.rebuildStore(system)));

const letters = program.command('dead-letter').description('records that could not be worked');
letters.command('list <topic>').action((topic) => run((system) => commands.listLetters(system, topic)));
letters
  .command('inspect <topic>')
  .argument('<partition>', '', wholeNumber)
  .argument('<offset>', '', wholeNumber)
  .action((topic, partition, offset) =>
    run((system) => commands.inspectLetter(system, topic, partition, offset)),
  );
letters
  .command('redrive <topic>')
  .option('--since <instant>', 'only those that failed then or later', instant, 0)
  .action((topic, { since }) => run((system) => commands.redriveLetters(system, topic, since)));
letters
  .command('discard <topic>')
  .argument('<partition>', '', wholeNumber)
  .argument('<offset>', '', wholeNumber)
  .action((topic, partition, offset) =>
    run((system) => commands.discardLetter(system, topic, partition, offset)),
  );

/** `--json` and `--data` may stand anywhere: people add them at the end. */
function globalsFirst(args: readonly string[]): string[] {
  const front: string[] = [];
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--json' || arg.startsWith('--data=')) front.push(arg);
    else if (arg === '--data') front.push(arg, args[++i] ?? '');
    else rest.push(arg);
  }
  return [...front, ...rest];
}

const args = globalsFirst(process.argv.slice(2));
try {
  await program.parseAsync(args, { from: 'user' });
} catch (error) {
  const { code, message } = describeError(error);
  if (error instanceof CommanderError) {
    // Commander has said what was wrong, or printed the help, in its own words.
    if (args.includes('--json') && error.exitCode !== 0)
      process.stderr.write(
        `${JSON.stringify({ error: { code: 'usage-invalid', message: error.message } })}\n`,
      );
    process.exitCode = error.exitCode === 0 ? 0 : 1;
  } else {
    const text = args.includes('--json') ? JSON.stringify({ error: { code, message } }) : `admin: ${message}`;
    process.stderr.write(`${text}\n`);
    process.exitCode = 1;
  }
}
