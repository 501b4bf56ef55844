import { resolve } from 'node:path';
import { Command, CommanderError, InvalidArgumentError } from 'commander';

/** Further gateways are on N+20 to N+38, so that they end below the ops ports. */
export const PROCESSES_MAX = 20;
/** The highest port of a system is its last ops port: N+40, five services of 20 processes, and the
 * portal. */
const PORT_BASE_MAX = 65_535 - 40 - 5 * PROCESSES_MAX - 1;

export type StartOptions = {
  readonly portBase: number;
  readonly data: string;
  readonly once: boolean;
  readonly demo: boolean;
  readonly json: boolean;
  readonly gateways: number;
  readonly evaluators: number;
  readonly resultStores: number;
  readonly dispatchers: number;
  readonly watchers: number;
  /** Absolute path of a chain file that is used instead of the demo chain alone. */
  readonly chains: string | undefined;
};

/** The command line was wrong (exit 1), or asked for help (exit 0); the message has been
 * printed. */
export class OptionsEnd extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, options?: ErrorOptions) {
    super('the command line ends the start', options);
    this.exitCode = exitCode;
  }
}

/**
 * Reads the options of `npm start`.
 *
 * @throws OptionsEnd after it has printed the fault on stderr, or the help.
 *
 * @example
 * parseOptions(['--port-base', '25000', '--once']).portBase; // 25000
 */
export function parseOptions(argv: readonly string[], write: (text: string) => void): StartOptions {
  const command = new Command('npm start --')
    .description('Brings Rolecall up on this machine: Kafka, Redis, a demo chain and every service.')
    .option(
      '--port-base <port>',
      "the gateway's port; all other ports are above it",
      integer(1, PORT_BASE_MAX),
      8080,
    )
    .option('--data <dir>', 'where Kafka and Redis keep their data between runs', '.data')
    .option('--once', 'exit after the demo: 0 if every mode answered as expected', false)
    .option('--no-demo', 'skip the demo')
    .option('--json', 'nothing on stdout but one JSON line when ready', false)
    .option('--gateways <count>', 'number of gateway processes', integer(1, PROCESSES_MAX), 1)
    .option('--evaluators <count>', 'number of evaluator processes', integer(0, PROCESSES_MAX), 1)
    .option('--result-stores <count>', 'number of result-store processes', integer(0, PROCESSES_MAX), 1)
    .option('--dispatchers <count>', 'number of webhook-dispatcher processes', integer(0, PROCESSES_MAX), 1)
    .option('--watchers <count>', 'number of watcher processes', integer(0, PROCESSES_MAX), 1)
    .option('--chains <file>', 'chain configuration used instead of the demo chain alone')
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: write, writeErr: write });
  try {
    command.parse([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw new OptionsEnd(error.exitCode, { cause: error });
    throw error;
  }
  const values = command.opts<StartOptions>();
  const chains = values.chains === undefined ? undefined : resolve(values.chains);
  return { ...values, chains, data: resolve(values.data) };
}

/** A parser of whole numbers, for an option. */
export const integer =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^[0-9]{1,10}$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return value;
  };
