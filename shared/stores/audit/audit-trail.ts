import { AUDIT_VIEW_KEPT_MS, Audit, audit } from '#shared/contracts/apps/audit.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { makeScript, pairsOf, REQUIRE_VIEW, viewCommand } from '#shared/redis/script.ts';

/** Writes kept in the trail of an account and of an app, the newest. */
export const WRITES_MAX = 500;
/** Writes kept in the trail of all accounts, the newest: about 3 MB. */
export const ALL_WRITES_MAX = 10_000;
/**
 * Entries by time in the trail of an account and of an app. Only an account's own acts count
 * towards its bound; it is above what sign-ins, operators' reads and a person at work add in the
 * time that is kept.
 */
export const KEPT_MAX = 5_000;
/** Entries that are read at a time for a page of filtered entries. */
const CHUNK_COUNT = 500;
/** Entries that are read for one page; if more are left, the page says where to continue. */
const SCANNED_MAX = 10_000;

/** The two sorted sets of a trail. They are apart so that no number of writes displaces what is
 * kept by time. */
type Trail = { readonly kept: string; readonly writes: string };
const trail = (name: string): Trail => ({ kept: `audit:kept:${name}`, writes: `audit:writes:${name}` });
const ALL_TRAIL = trail('all');
const accountTrail = (accountId: string): Trail => trail(`account:${accountId}`);
const appTrail = (clientId: string): Trail => trail(`app:${clientId}`);

export const appTrailKeys = (clientId: string): string[] => Object.values(appTrail(clientId));

/**
 * KEYS: set of all accounts, of the account, of the app if there is one. ARGV: time
 * in ms, the entry, most entries of an account or app, and of all ('' where entries are kept by
 * time). An entry that is there already is not added again; a repeat moves it. What an account has
 * too much of leaves the set of all with it, so that no account displaces another's entries there.
 */
const RECORD = `${REQUIRE_VIEW}
local oldest = '-inf'
if ARGV[4] == '' then oldest = redis.call('TIME')[1] * 1000 - ${AUDIT_VIEW_KEPT_MS} end
for i = 1, #KEYS do
  redis.call('ZADD', KEYS[i], 'GT', ARGV[1], ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', '(' .. oldest)
  redis.call('PEXPIRE', KEYS[i], ${AUDIT_VIEW_KEPT_MS})
end
for i = 2, #KEYS do
  local surplus = redis.call('ZCARD', KEYS[i]) - ARGV[3]
  if surplus > 0 then
    for _, entry in ipairs(redis.call('ZRANGE', KEYS[i], 0, surplus - 1)) do
      redis.call('ZREM', KEYS[i], entry)
      if i == 2 then redis.call('ZREM', KEYS[1], entry) end
    end
  end
end
if ARGV[4] ~= '' then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[4] - 1) end
return 1
`;

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

/** With `next` there may be more entries, though the page may have fewer than were asked for. */
type AuditPage = { readonly entries: readonly Audit[]; readonly next?: string };

export function makeAuditTrail(redis: Redis) {
  const record = makeScript<number>(redis, RECORD);
  const readSet = makeScript<string[]>(redis, viewCommand('ZREVRANGEBYSCORE'));

  /** Entries of both sets, newest first, from a position on. */
  async function readChunk(
    of: Trail,
    { sinceMs, topMs, passed }: { sinceMs: number; topMs: number | '+inf'; passed: number },
  ): Promise<Audit[]> {
    const count = passed + CHUNK_COUNT;
    const range = [topMs, sinceMs, 'WITHSCORES', 'LIMIT', 0, count];
    const sets = await Promise.all(Object.values(of).map((set) => readSet([set], range)));
    return sets
      .flatMap(pairsOf)
      .map(([line, atMs]) => [line, Number(atMs)] as const)
      .sort(([, a], [, b]) => b - a)
      .slice(passed, count)
      .map(([line, atMs]) => Audit.parse({ ...JSON.parse(line), at: new Date(atMs).toISOString() }));
  }

  /** A page of a trail, newest first. Without account and app it is of all accounts. */
  async function page(options: AuditPageOptions): Promise<AuditPage> {
    const { sinceMs = 0, untilMs, before, countMax } = options;
    const found: Audit[] = [];
    let [topMs, passed]: [number | '+inf', number] = parsePosition(before) ?? [untilMs ?? '+inf', 0];
    for (let scanned = 0; scanned < SCANNED_MAX; scanned += CHUNK_COUNT) {
      const chunk = await readChunk(trailOf(options), { sinceMs, topMs, passed });
      for (const entry of chunk) {
        if (isWanted(entry, options)) {
          if (found.length === countMax) return { entries: found, next: `${topMs}-${passed}` };
          found.push(entry);
        }
        const atMs = Date.parse(entry.at);
        [topMs, passed] = [atMs, atMs === topMs ? passed + 1 : 1];
      }
      if (chunk.length < CHUNK_COUNT) return { entries: found };
    }
    return { entries: found, next: `${topMs}-${passed}` };
  }

  return {
    /** Idempotent: the same entry is kept once. */
    async record(entry: Audit): Promise<void> {
      const { accountId, clientId, kind, at } = entry;
      const isByNumber = kind === 'write';
      const set = isByNumber ? 'writes' : 'kept';
      const trails = [
        ALL_TRAIL,
        accountTrail(accountId),
        ...(clientId === undefined ? [] : [appTrail(clientId)]),
      ];
      await record(
        [...trails.map((one) => one[set])],
        [Date.parse(at), lineOf(entry), isByNumber ? WRITES_MAX : KEPT_MAX, isByNumber ? ALL_WRITES_MAX : ''],
      );
    },
    ofAccount: async (accountId: string, countMax: number) => (await page({ accountId, countMax })).entries,
    ofApp: async (clientId: string, countMax: number) => (await page({ clientId, countMax })).entries,
    page,
  };
}

/** The audit trail: a view of the audit topic, bounded per account, per app and of all accounts. */
export type AuditTrail = ReturnType<typeof makeAuditTrail>;

const HOUR_CHARS = '2026-11-21T10'.length;

/** An entry as the sets hold it: in one order of members, so that every writer makes the same text
 * of the same entry, and of all repeats within an hour where these are one. */
function lineOf({ accountId, clientId, actor, action, subject, kind, from, at }: Audit): string {
  const time = kind === 'security' ? { at } : { hour: at.slice(0, HOUR_CHARS) };
  return JSON.stringify({ accountId, clientId, actor, action, subject, kind, from, ...time });
}

function trailOf({ accountId, clientId }: AuditPageOptions): Trail {
  if (accountId !== undefined) return accountTrail(accountId);
  return clientId === undefined ? ALL_TRAIL : appTrail(clientId);
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

/** An entry to record: by default of the kind `security`, dated now. */
export type NewAudit = Omit<Audit, 'at' | 'kind'> & Partial<Audit>;
export type RecordAudit = (entry: NewAudit) => Promise<void>;

/** Records audit entries, dated now unless they have a date: the same entry is kept once. */
export function makeRecordAudit({ publish, auditTrail, now }: Dependencies): RecordAudit {
  return async function recordAudit(entry) {
    const dated: Audit = { at: new Date(now()).toISOString(), kind: 'security', ...entry };
    await publish(audit, dated);
    await auditTrail.record(dated);
  };
}

/** The error of a change that is in effect: the answer must not deny it. */
export const auditMissing = (change: string, cause: unknown): ServiceError =>
  new ServiceError('publish-unknown', `${change}; the audit entry may be missing`, { cause });
