import type { Command } from 'commander';
import { ServiceError } from '#shared/errors.ts';
import { emailAddress, type Run } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';
import { exportSystem } from '../transfer/export-system.ts';
import { importSystem } from '../transfer/import-system.ts';

/** @throws ServiceError `not-found` */
async function exportAccount(system: OpenSystem, email: string) {
  const account = await system.accounts.findByEmail(email);
  if (!account) throw new ServiceError('not-found', `there is no account ${email}`);
  return exportSystem(system, account.accountId);
}

export function addTransfer(program: Command, run: Run): void {
  program
    .command('export')
    .description(
      'print accounts, client apps, rule sets, watches and members as NDJSON, with hashes of keys and passwords, and secrets as they are encrypted',
    )
    .option('--account <email>', 'only this account and what belongs to it', emailAddress)
    .action(({ account }: { account?: string }) =>
      run(async (system) => (account === undefined ? exportSystem(system) : exportAccount(system, account))),
    );
  program
    .command('import <file>')
    .description(
      'import an export: nothing unless the whole file is valid; what the system has in the same or a newer version stays',
    )
    .action((file) => run((system) => importSystem(system, file)));
}
