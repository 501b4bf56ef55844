import type { Command } from 'commander';
import { ServiceError } from '#shared/errors.ts';
import { adderTo, emailAddress, type Run } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';
import { exportSystem } from '../transfer/export-system.ts';
import { importSystem } from '../transfer/import-system.ts';

/** @throws ServiceError `not-found` for an address without an account */
async function exportAll(system: OpenSystem, { account: email }: { account?: string }) {
  if (email === undefined) return exportSystem(system);
  const account = await system.accounts.findByEmail(email);
  if (!account) throw new ServiceError('not-found', `there is no account ${email}`);
  return exportSystem(system, account.accountId);
}

export function addTransfer(program: Command, run: Run): void {
  const add = adderTo(program, run);
  add(
    'export',
    'print accounts, client apps, rule sets, watches and members as NDJSON, with hashes of keys and passwords, and secrets as they are encrypted',
    exportAll,
  ).option('--account <email>', 'only this account and what belongs to it', emailAddress);
  add(
    'import <file>',
    'import an export: nothing unless the whole file is valid; what the system has in the same or a newer version stays',
    importSystem,
  );
}
