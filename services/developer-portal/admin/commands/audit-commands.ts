import type { Command } from 'commander';
import { audit } from '#shared/contracts/apps/audit.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import { isRetriable } from '#shared/errors.ts';
import { WRITES_MAX } from '#shared/stores/audit/audit-trail.ts';
import { type AuditFilters, pageAudit } from '../../features/operator/operate.ts';
import { addGroup, instant, type PrintLines, type Run, wholeNumber } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

const LISTED_COUNT = 50;
const LISTED_MAX = 500;
/** A record may be stamped a little before the time of its entry: clocks differ. */
const MARGIN_MS = 120_000;

type Filters = Pick<AuditFilters, 'account' | 'app' | 'action'> & {
  readonly since?: number;
  readonly until?: number;
  readonly limit: number;
};

/** A page may be short though there are more entries. */
async function listAudit(system: OpenSystem, { limit, since: sinceMs, until: untilMs, ...filters }: Filters) {
  const found: Awaited<ReturnType<typeof pageAudit>>['entries'] = [];
  let before: string | undefined;
  do {
    const countMax = limit - found.length;
    const page = await pageAudit(system, { ...filters, sinceMs, untilMs, before, countMax });
    found.push(...page.entries);
    before = page.next;
  } while (before !== undefined && found.length < limit);
  return found;
}

/** Every entry of the topic from an instant on, as NDJSON: in the order of time for each account. */
const exportAudit =
  ({ kafka }: OpenSystem, sinceMs: number): PrintLines =>
  async (write) => {
    await kafka.readTopic({
      topic: audit.name,
      sinceMs: Math.max(0, sinceMs - MARGIN_MS),
      async apply(records) {
        for (const { value } of records) {
          const entry = readEntry(value);
          if (entry && Date.parse(entry.at) >= sinceMs) await write(JSON.stringify(entry));
        }
      },
    });
  };

/** An unreadable record was dead-lettered by its consumer. */
function readEntry(value: Buffer | null) {
  try {
    return parseMessage(audit, value);
  } catch (error) {
    if (isRetriable(error)) throw error;
    return undefined;
  }
}

export function addAudit(program: Command, run: Run): void {
  const add = addGroup(program, run, 'audit', 'audit entries of accounts and apps');
  add('list', listAudit)
    .description(
      `list audit entries of the last 90 days, newest first; of writes of rule sets, watches and members the newest ${WRITES_MAX} of each account`,
    )
    .option('--account <account>', "an account's e-mail address or id")
    .option('--app <id>', 'a client id')
    .option('--action <action>', 'an action such as key-revoked')
    .option('--since <instant>', 'only entries of this instant or later', instant)
    .option('--until <instant>', 'only entries of this instant or earlier', instant)
    .option('--limit <n>', `entries, at most ${LISTED_MAX}`, wholeNumber(1, LISTED_MAX), LISTED_COUNT);
  add('export', async (system, { since }: { since: number }) => exportAudit(system, since))
    .description('print every audit entry that the broker has, 400 days of them, as NDJSON')
    .requiredOption('--since <instant>', 'only entries of this instant or later', instant);
}
