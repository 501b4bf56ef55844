import { Command, CommanderError } from 'commander';
import { integer } from '../../../deploy/local/settings/options.ts';

export type ChaosOptions = {
  /** Ids of the rows to run, in order. */
  readonly faults: readonly string[];
  readonly all: boolean;
  readonly selection: boolean;
  readonly soak: boolean;
  /** Names of broken variants to run; `all` of them. */
  readonly broken: readonly string[];
  readonly seconds: number;
  readonly seed: number;
  readonly portBase: number;
  /** Of the main chain, which has an endpoint more. */
  readonly quorum: number;
  readonly json: string;
};

const SECONDS_MIN = 5;
const SECONDS_MAX = 7_200;
const SEED_MAX = 2 ** 31;

/**
 * Reads the command line.
 *
 * @throws CommanderError after it has printed the error or the help
 */
export function parseOptions(argv: readonly string[]): ChaosOptions {
  const command = new Command('npm run test:chaos --')
    .description(
      'Injects faults into a running system under load, and verifies that nothing is lost and nothing is wrong.',
    )
    .option('--fault <id...>', 'rows of the matrix, for example F2')
    .option('--all', 'every row but the soak, and then every broken variant', false)
    .option('--selection', 'the short selection that npm test runs', false)
    .option('--soak', 'F24: crashes at random for --seconds, default 1800', false)
    .option('--broken <name...>', 'a broken variant, which must be caught; the exit code is 1 in any case')
    .option('--seconds <count>', 'duration of the fault of each row', integer(SECONDS_MIN, SECONDS_MAX))
    .option(
      '--seed <number>',
      'chooses victims; printed, so that a run can be repeated',
      integer(0, SEED_MAX),
    )
    .option('--port-base <port>', 'ports from here to 100 above', integer(1_024, 32_000), 18_000)
    .option('--quorum <count>', 'how many endpoints of the main chain must agree', integer(1, 2), 1)
    .option('--json <file>', 'file for all results', 'chaos-results.json')
    .allowExcessArguments(false)
    .exitOverride();
  command.parse([...argv], { from: 'user' });
  const values = command.opts<Partial<ChaosOptions> & { fault?: string[] }>();
  const given = [values.fault, values.all, values.selection, values.soak, values.broken].filter(Boolean);
  if (given.length !== 1) throw new CommanderError(1, 'usage', command.helpInformation());
  return {
    ...(values as ChaosOptions),
    faults: values.fault ?? [],
    broken: values.broken ?? [],
    seconds: values.seconds ?? (values.soak ? 1_800 : values.selection ? SECONDS_MIN : 30),
    seed: values.seed ?? Date.now() % SEED_MAX,
  };
}
