import { Audit, audit } from '#shared/contracts/apps/audit.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, REQUIRE_VIEW, type ViewAccess } from '#shared/redis/view.ts';

/** Entries kept in the view of an account and of an app, the newest; the topic has them all for 400
 * days. */
export const TRAIL_COUNT_MAX = 500;
/** Entries kept in the view of all accounts, the newest: about 3 MB. */
export const ALL_TRAIL_COUNT_MAX = 10_000;
const KEPT_MS = 400 * DAY_MS;
/** Entries that are read at a time for a page of filtered entries. */
const CHUNK_COUNT = 500;

const accountTrail = (accountId: string): string => `audit:account:${accountId}`;
const ALL_TRAIL = 'audit:all';
export const appTrailKey = (clientId: string): string => `audit:app:${clientId}`;

/**
 * KEYS: marker, trail of all accounts, other trails. ARGV: access, time in ms, the entry. An entry
 * that is there already is not added again.
 */
const RECORD = `${REQUIRE_VIEW}
for i = 2, #KEYS do
  redis.call('ZADD', KEYS[i], ARGV[2], ARGV[3])
  redis.call('ZREMRANGEBYRANK', KEYS[i], 0, i == 2 and -${ALL_TRAIL_COUNT_MAX + 1} or -${TRAIL_COUNT_MAX + 1})
  redis.call('PEXPIRE', KEYS[i], ${KEPT_MS})
end
return 1
`;

/** KEYS: marker, trail. ARGV: access, how many. */
const READ = `${REQUIRE_VIEW}
return redis.call('ZREVRANGE', KEYS[2], 0, ARGV[2] - 1)
`;

/** KEYS: marker, trail. ARGV: access, lowest and highest time in ms, entries to pass over, how
 * many. */
const READ_RANGE = `${REQUIRE_VIEW}
return redis.call('ZREVRANGEBYSCORE', KEYS[2], ARGV[3], ARGV[2], 'LIMIT', ARGV[4], ARGV[5])
`;

/** Filters and bounds of a page of entries. */
type AuditPageOptions = {
  /** The trail of this account; it has the entries of its apps. */
  readonly accountId?: string | undefined;
  /** The trail of this app; with an account as well, those of the account's entries that are about
   * the app. */
  readonly clientId?: string | undefined;
  readonly action?: string | undefined;
  /** Epoch ms, both included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** The `next` of the page before. */
  readonly before?: string | undefined;
  readonly countMax: number;
};

type AuditPage = { readonly entries: readonly Audit[]; readonly next?: string };

/**
 * @example
 * const entries = await makeAuditTrail(redis).ofApp('app_1', 100);
 */
export function makeAuditTrail(redis: Redis) {
  const record = makeScript<number>(redis, RECORD);
  const readTrail = makeScript<string[]>(redis, READ);
  const readRange = makeScript<string[]>(redis, READ_RANGE);
  const read = async (trail: string, countMax: number): Promise<Audit[]> =>
    (await readTrail([GENERATION_KEY, trail], [ORDINARY_ACCESS, countMax])).map((line) =>
      Audit.parse(JSON.parse(line)),
    );
  return {
    /** Idempotent: the same entry is kept once. */
    async record(entry: Audit, access: ViewAccess = ORDINARY_ACCESS): Promise<void> {
      const { accountId, clientId, actor, action, subject, at } = entry;
      // In one order of members, so that every writer makes the same text of the same entry.
      const line = JSON.stringify({ accountId, clientId, actor, action, subject, at });
      const trails = [
        ALL_TRAIL,
        accountTrail(accountId),
        ...(clientId === undefined ? [] : [appTrailKey(clientId)]),
      ];
      await record([GENERATION_KEY, ...trails], [access, Date.parse(at), line]);
    },
    /** Newest first. */
    ofAccount: (accountId: string, countMax: number): Promise<Audit[]> =>
      read(accountTrail(accountId), countMax),
    ofApp: (clientId: string, countMax: number): Promise<Audit[]> => read(appTrailKey(clientId), countMax),
    /** A page of a trail, newest first. Without account and app it is of all accounts: the newest
     * 10 000 entries. */
    async page(options: AuditPageOptions): Promise<AuditPage> {
      const { sinceMs = 0, untilMs, before, countMax } = options;
      const trail = trailOf(options);
      const found: Audit[] = [];
      let [topMs, passed]: [number | '+inf', number] = parsePosition(before) ?? [untilMs ?? '+inf', 0];
      // A trail has at most 10 000 entries, so this reads at most 20 chunks.
      for (let chunk = 0; chunk * CHUNK_COUNT < ALL_TRAIL_COUNT_MAX; chunk++) {
        const lines = await readRange(
          [GENERATION_KEY, trail],
          [ORDINARY_ACCESS, sinceMs, topMs, passed, CHUNK_COUNT],
        );
        for (const line of lines) {
          const entry = Audit.parse(JSON.parse(line));
          const atMs = Date.parse(entry.at);
          if (found.length === countMax && isWanted(entry, options))
            return { entries: found, next: `${topMs}-${passed}` };
          [topMs, passed] = [atMs, atMs === topMs ? passed + 1 : 1];
          if (isWanted(entry, options)) found.push(entry);
        }
        if (lines.length < CHUNK_COUNT) break;
      }
      return { entries: found };
    },
  };
}

/** The audit trail: a view of the audit topic, bounded per account, per app and of all accounts. */
export type AuditTrail = ReturnType<typeof makeAuditTrail>;

function trailOf({ accountId, clientId }: AuditPageOptions): string {
  if (accountId !== undefined) return accountTrail(accountId);
  return clientId === undefined ? ALL_TRAIL : appTrailKey(clientId);
}

const isWanted = (entry: Audit, { clientId, action }: AuditPageOptions): boolean =>
  (clientId === undefined || entry.clientId === clientId) &&
  (action === undefined || entry.action === action);

/** A position in a trail: the time of the last entry in ms, and how many entries of that time were
 * passed. */
export const AUDIT_POSITION = /^(\d{1,15})-(\d{1,5})$/;

function parsePosition(text = ''): [number, number] | undefined {
  const [, atMs, passed] = AUDIT_POSITION.exec(text) ?? [];
  return atMs === undefined ? undefined : [Number(atMs), Number(passed)];
}

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  readonly auditTrail: Pick<AuditTrail, 'record'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

export type RecordAudit = (entry: Omit<Audit, 'at'> & Partial<Audit>) => Promise<void>;

/** Records audit entries, dated now unless they have a date: the same entry is kept once. */
export function makeRecordAudit({ publish, auditTrail, now }: Dependencies): RecordAudit {
  return async function recordAudit(entry) {
    const dated = { at: new Date(now()).toISOString(), ...entry };
    await publish(audit, dated);
    await auditTrail.record(dated);
  };
}

/** The error of a change that is in effect: the answer must not deny it. */
export const auditMissing = (change: string, cause: unknown): ServiceError =>
  new ServiceError('publish-unknown', `${change}; the audit entry may be missing`, { cause });
