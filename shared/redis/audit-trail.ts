import { Audit } from '#shared/contracts/audit.ts';
import { DAY_MS } from '../contracts/durations.ts';
import type { Redis } from './connect.ts';
import { makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, REQUIRE_VIEW, type ViewAccess } from './view.ts';

/** Entries kept in the view of an account and of an app, the newest; the topic has them all for 400 days. */
export const TRAIL_COUNT_MAX = 500;
const KEPT_MS = 400 * DAY_MS;

const accountTrail = (accountId: string): string => `audit:account:${accountId}`;
export const appTrailKey = (clientId: string): string => `audit:app:${clientId}`;

/** KEYS: marker, trails. ARGV: access, time in ms, the entry. An entry that is there already is not added again. */
const RECORD = `${REQUIRE_VIEW}
for i = 2, #KEYS do
  redis.call('ZADD', KEYS[i], ARGV[2], ARGV[3])
  redis.call('ZREMRANGEBYRANK', KEYS[i], 0, -${TRAIL_COUNT_MAX + 1})
  redis.call('PEXPIRE', KEYS[i], ${KEPT_MS})
end
return 1
`;

/** KEYS: marker, trail. ARGV: access, how many. */
const READ = `${REQUIRE_VIEW}
return redis.call('ZREVRANGE', KEYS[2], 0, ARGV[2] - 1)
`;

/** Who did what when, as a view of the audit topic that is bounded per account and per app. */
export type AuditTrail = {
  /** Idempotent: the same entry is kept once. */
  readonly record: (entry: Audit, access?: ViewAccess) => Promise<void>;
  /** Newest first. */
  readonly ofAccount: (accountId: string, countMax: number) => Promise<Audit[]>;
  readonly ofApp: (clientId: string, countMax: number) => Promise<Audit[]>;
};

/**
 * @example
 * const entries = await makeAuditTrail(redis).ofApp('app_1', 100);
 */
export function makeAuditTrail(redis: Redis): AuditTrail {
  const record = makeScript<number>(redis, 'recordAudit', RECORD);
  const readTrail = makeScript<string[]>(redis, 'readAudit', READ);
  const read = async (trail: string, countMax: number): Promise<Audit[]> =>
    (await readTrail([GENERATION_KEY, trail], [EVERYDAY, countMax])).map((line) =>
      Audit.parse(JSON.parse(line)),
    );
  return {
    async record(entry, access = EVERYDAY) {
      const { accountId, clientId, actor, action, subject, at } = entry;
      // In one order of members, so that every writer makes the same text of the same entry.
      const line = JSON.stringify({ accountId, clientId, actor, action, subject, at });
      const trails = [accountTrail(accountId), ...(clientId === undefined ? [] : [appTrailKey(clientId)])];
      await record([GENERATION_KEY, ...trails], [access, Date.parse(at), line]);
    },
    ofAccount: (accountId, countMax) => read(accountTrail(accountId), countMax),
    ofApp: (clientId, countMax) => read(appTrailKey(clientId), countMax),
  };
}
