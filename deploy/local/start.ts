// `npm start`: brings the system up, shows it, and keeps it up until it is asked to stop.
import { showDemo } from './demo/demo.ts';
import { followLauncher } from './processes/follow-launcher.ts';
import { makeLines, wantsColour } from './processes/lines.ts';
import { OptionsEnd, parseOptions, type StartOptions } from './settings/options.ts';
import { describeSystem } from './system/describe-system.ts';
import type { ReadyLine } from './system/ready-line.ts';
import { startLocalSystem } from './system/start-local-system.ts';

const NAME_CHARS = 18;

const stop = new AbortController();
// A terminal's Ctrl-C comes twice, directly and from npm, so a repeated signal means nothing more.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
followLauncher(process.env['ROLECALL_LAUNCHER_PID']);
// The reader of our output may end before us.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

try {
  const options = parseOptions(process.argv.slice(2), (text) => process.stderr.write(text));
  process.exitCode = await main(options);
} catch (error) {
  process.exitCode = error instanceof OptionsEnd ? error.exitCode : 1;
  if (!(error instanceof OptionsEnd)) process.stderr.write(`rolecall: ${describe(error)}\n`);
}

async function main(options: StartOptions): Promise<number> {
  const output = options.json ? process.stderr : process.stdout;
  const lines = makeLines({ output, colour: wantsColour(output, process.env), nameChars: NAME_CHARS });
  const began = performance.now();
  try {
    await using system = await startLocalSystem(options, process.env, lines, stop.signal);
    lines.say(`ready after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    if (options.json) process.stdout.write(`${JSON.stringify(system.ready)}\n`);
    const isWell = await showDemo(system.ready, options, lines.say, stop.signal);
    if (!options.once) await stayUp(system.ready, options, output);
    lines.say('stopping');
    return options.once && !isWell ? 1 : 0;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    lines.say('stopped before it was ready');
    return 0;
  }
}

async function stayUp(
  ready: ReadyLine,
  { json }: StartOptions,
  output: NodeJS.WritableStream,
): Promise<void> {
  if (!json) for (const line of describeSystem(ready)) output.write(`${line}\n`);
  if (stop.signal.aborted) return;
  await new Promise<void>((resolve) =>
    stop.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
