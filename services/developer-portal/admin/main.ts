import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { describeError } from '#shared/errors.ts';
import type { PrintLines, Run } from './command-line.ts';
import { formatValue } from './format-value.ts';
import { loadLocalSystem } from './local-system.ts';
import { openSystem } from './open-system.ts';
import { makeProgram } from './program.ts';
import { recordCommand } from './record-command.ts';

/** Of every failure; the error's code tells a wrong command line (`usage-invalid`) from the
 * others. */
const EXIT_FAILED = 1;

/** Prints the error. Commander has printed usage errors already, unless `--json` silenced it. */
function reportFailure(error: unknown, isJson: boolean): void {
  const isUsage = error instanceof CommanderError;
  if (isUsage && error.exitCode === 0) return;
  const { code, message } = isUsage
    ? { code: 'usage-invalid', message: messageOf(error) }
    : describeError(error);
  process.exitCode = EXIT_FAILED;
  if (isUsage && !isJson) return;
  process.stderr.write(isJson ? `${JSON.stringify({ error: { code, message } })}\n` : `admin: ${message}\n`);
}

/** Commander has no readable message for a missing subcommand. */
const messageOf = ({ code, message }: CommanderError): string =>
  code === 'commander.help' ? 'no command was given; --help lists the commands' : message;

/** Waits until the reader takes more, so that a long output takes no memory. */
const write = (stream: NodeJS.WriteStream, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });

/**
 * Waits until the reader has taken everything: a pipe holds 64 KiB, and an exit loses the rest. If
 * the reader has gone, the command has failed.
 */
const flush = (stream: NodeJS.WriteStream): Promise<void> =>
  write(stream, '').catch(() => {
    process.exitCode = EXIT_FAILED;
  });

/** Who runs the command, unless `--as` says so. The system may have no name for the user. */
function userAtHost(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `unknown@${hostname()}`;
  }
}

// The admin command: opens the system, runs one subcommand, prints one value.
const OUTPUTS = [process.stdout, process.stderr];
// `flush` reports a reader that has gone.
for (const stream of OUTPUTS) stream.on('error', () => undefined);
const args = process.argv.slice(2);
const isJson = args.includes('--json');
const print = (value: unknown): void => {
  const isText = typeof value === 'string' || !isJson;
  process.stdout.write(`${isText ? formatValue(value) : JSON.stringify(value)}\n`);
};
const runOnSystem: Run = async (work) => {
  const { data, as = userAtHost() } = program.opts<{ data?: string; as?: string }>();
  const isRemote = data === undefined && Boolean(process.env['KAFKA_BROKERS']);
  const local = isRemote ? undefined : loadLocalSystem(resolve(data ?? '.data'));
  await using system = await openSystem({ ...process.env, ...local?.environment }, as, local?.processes);
  const value = await work(system);
  if (command) await recordCommand(system, command);
  if (typeof value === 'function') await (value as PrintLines)((line) => write(process.stdout, `${line}\n`));
  else print(value);
};
let command: Command | undefined;
const program = makeProgram(runOnSystem, print, process.env, isJson).hook('preAction', (_program, action) => {
  command = action;
});
try {
  await program.parseAsync(args, { from: 'user' });
} catch (error) {
  reportFailure(error, isJson);
}
await Promise.all(OUTPUTS.map(flush));
// A connection that a client failed to close in time must not keep a finished command running.
process.exit();
