import { Command, Help, type Option } from 'commander';
import type { Environment } from '#shared/config.ts';
import { actorName, type Run } from './command-line.ts';
import { addAccounts } from './commands/account-commands.ts';
import { addApps } from './commands/app-commands.ts';
import { addAudit } from './commands/audit-commands.ts';
import { addChains, type CheckChainFile, checkChainFile } from './commands/chain-commands.ts';
import { addChecks } from './commands/check-commands.ts';
import { addProofKeys, type Print } from './commands/proof-key-commands.ts';
import { addRuleSets } from './commands/rule-set-commands.ts';
import { addSystem } from './commands/system-commands.ts';
import { addTransfer } from './commands/transfer-commands.ts';
import { addWatches } from './commands/watch-commands.ts';

/** Commander tells choices and defaults, and not which options are required. */
const describeOption = (option: Option): string =>
  [new Help().optionDescription(option), ...(option.mandatory ? ['(required)'] : [])].join(' ');

const EXIT_CODES = `
Exit codes:
  0  done
  1  refused, not found, the system cannot be reached, or the command line is wrong; the message says which`;

/** The command line. `--json` and `--data` may be anywhere. */
export function makeProgram(
  run: Run,
  print: Print,
  env: Environment,
  isJson = false,
  checkChains: CheckChainFile = checkChainFile,
): Command {
  const program = new Command('admin')
    .description(
      'Operates a running Rolecall: a local system named by its data directory, or any other named by environment variables.',
    )
    .option('--data <dir>', 'data directory of a local system (default .data)')
    .option('--json', 'print one JSON value, for machines')
    .option('--as <name>', 'the actor in the audit trail (default user@host)', actorName)
    .exitOverride()
    // With `--json` an error is one line of JSON, so Commander must not write its own text.
    .configureOutput(isJson ? { writeErr: () => undefined } : {})
    .configureHelp({ showGlobalOptions: true, optionDescription: describeOption })
    .addHelpText('after', EXIT_CODES);
  for (const add of [
    addApps,
    addAccounts,
    addAudit,
    addSystem,
    addChecks,
    addRuleSets,
    addWatches,
    addTransfer,
  ])
    add(program, run);
  addProofKeys(program, print, env);
  addChains(program, print, env, checkChains);
  for (const [words, command] of subcommandsOf(program))
    command.addHelpText('after', `\nExample:\n  ${program.name()} ${exampleOf(words, command)}`);
  return program;
}

/** The subcommands that do something, each by its words, such as `app create`. */
export const subcommandsOf = (command: Command, words: readonly string[] = []): [string, Command][] =>
  command.commands.length === 0
    ? [[words.join(' '), command]]
    : command.commands.flatMap((one) => subcommandsOf(one, [...words, one.name()]));

const APP_ID = 'app_405b54b6c5551d904994e2e5';
const REQUEST_ID = 'AQEBogU_baM9-XeEYv8xEeXwcNnRNi1prSzoDTlD';
/** Values for an example, by the name of an argument or of a required option. */
const SAMPLES: Readonly<Record<string, string>> = {
  id: APP_ID,
  clientId: APP_ID,
  ruleSetId: 'holders',
  file: 'holders.json',
  watchId: 'members',
  key: 'key_3f9c',
  requestId: REQUEST_ID,
  email: 'dev@example.com',
  tier: 'paid',
  topic: 'check.requested.bulk.v1',
  partition: '3',
  offset: '17',
  name: '"My app"',
  reason: '"Please say what you are building."',
  since: '2026-11-21T10:00:00Z',
};

/** A subcommand with its arguments and required options, as an operator would write it. */
export const exampleOf = (words: string, command: Command): string =>
  [
    words,
    ...command.registeredArguments.map((argument) => SAMPLES[argument.name()]),
    ...command.options.flatMap((option) =>
      option.mandatory ? [option.long, SAMPLES[option.attributeName()]] : [],
    ),
  ].join(' ');
