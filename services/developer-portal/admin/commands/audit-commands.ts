import type { Command } from 'commander';
import { ALL_TRAIL_COUNT_MAX, TRAIL_COUNT_MAX } from '#shared/stores/audit/audit-trail.ts';
import { accountIdOf } from '../../features/apps/credentials.ts';
import type { OpenSystem } from '../open-system.ts';
import { figureUpTo, instant } from '../parse-figures.ts';

/** Runs a subcommand's work on an open system; its value is printed. */
type Run = (work: (opened: OpenSystem) => Promise<unknown>) => Promise<void>;

type AuditFilters = {
  readonly account?: string;
  readonly app?: string;
  readonly action?: string;
  /** Epoch ms. */
  readonly since?: number;
  readonly until?: number;
  readonly limit: number;
};

const LISTED_COUNT = 50;

/** The newest audit entries that meet all filters; the value of `--json`. */
async function listAudit({ auditTrail }: Pick<OpenSystem, 'auditTrail'>, filters: AuditFilters) {
  const { account, app, action, since, until, limit } = filters;
  const { entries } = await auditTrail.page({
    accountId: account?.includes('@') ? accountIdOf(account) : account,
    clientId: app,
    action,
    sinceMs: since,
    untilMs: until,
    countMax: limit,
  });
  return entries;
}

export function addAudit(program: Command, run: Run): void {
  program
    .command('audit')
    .description('audit entries of accounts and apps')
    .command('list')
    .description(
      `list audit entries, newest first; kept are ${TRAIL_COUNT_MAX} of each account and of each app, and ${ALL_TRAIL_COUNT_MAX} of all`,
    )
    .option('--account <account>', "an account's e-mail address or id")
    .option('--app <id>', 'a client id')
    .option('--action <action>', 'an action such as key-revoked')
    .option('--since <instant>', 'only entries of this instant or later', instant)
    .option('--until <instant>', 'only entries of this instant or earlier', instant)
    .option('--limit <n>', `entries, at most ${TRAIL_COUNT_MAX}`, figureUpTo(TRAIL_COUNT_MAX), LISTED_COUNT)
    .action((filters: AuditFilters) => run((opened) => listAudit(opened, filters)));
}
