import { Command, Help, type Option } from 'commander';
import type { Environment } from '#shared/config.ts';
import { actorName, type Print, type Run } from './command-line.ts';
import { addAccounts } from './commands/account-commands.ts';
import { addApps } from './commands/app-commands.ts';
import { addAudit } from './commands/audit-commands.ts';
import { addChecks } from './commands/check-commands.ts';
import { addDocuments } from './commands/document-commands.ts';
import { addOffline, type CheckChainFile, checkChainFile } from './commands/offline-commands.ts';
import { addSystem } from './commands/system-commands.ts';

/** Commander tells choices and defaults, and not which options are required. */
const describeOption = (option: Option): string =>
  [new Help().optionDescription(option), ...(option.mandatory ? ['(required)'] : [])].join(' ');

const EXIT_CODES = `
Exit codes:
  0  done
  1  refused, not found, the system cannot be reached, or the command line is wrong; the message says which`;

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
  for (const add of [addApps, addAccounts, addAudit, addSystem, addChecks, addDocuments]) add(program, run);
  addOffline(program, print, env, checkChains);
  return program;
}
