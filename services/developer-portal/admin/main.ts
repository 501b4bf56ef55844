import { resolve } from 'node:path';
import { CommanderError } from 'commander';
import { describeError } from '#shared/errors.ts';
import { loadLocalSystem } from './local-system.ts';
import { openSystem } from './open-system.ts';
import { makeProgram } from './program.ts';

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

/** Commander has said already, in its own words, what was wrong with the line; for a program it is said again. */
function reportFailure(error: unknown, isJson: boolean): void {
  const isUsage = error instanceof CommanderError;
  if (isUsage && error.exitCode === 0) return;
  process.exitCode = 1;
  if (isUsage && !isJson) return;
  const { code, message } = isUsage
    ? { code: 'usage-invalid', message: wordsOf(error) }
    : describeError(error);
  process.stderr.write(isJson ? `${JSON.stringify({ error: { code, message } })}\n` : `admin: ${message}\n`);
}

/** Where no subcommand was named, Commander's message is the name of what it did. */
const wordsOf = ({ code, message }: CommanderError): string =>
  code === 'commander.help' ? 'no command was named; --help lists them' : message;

// The operator's command: opens the system, does one thing, prints one value.
const args = globalsFirst(process.argv.slice(2));
const isJson = args.includes('--json');
const program = makeProgram(async (work) => {
  const { data } = program.opts<{ data?: string }>();
  const isRemote = data === undefined && Boolean(process.env['KAFKA_BROKERS']);
  const local = isRemote ? undefined : loadLocalSystem(resolve(data ?? '.data'));
  await using system = await openSystem({ ...process.env, ...local?.environment });
  const value = await work(system, local);
  process.stdout.write(`${JSON.stringify(value, null, isJson ? 0 : 2)}\n`);
}, isJson);
try {
  await program.parseAsync(args, { from: 'user' });
} catch (error) {
  reportFailure(error, isJson);
}
// A connection that a client did not get closed in time must not keep a command that is done.
process.exit();
