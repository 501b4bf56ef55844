import { StoredBatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { RuleSetReference } from '#shared/contracts/rules/rule.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, REQUIRE_VIEW } from '#shared/redis/view.ts';

/** Batches of a client app that are listed, at about 140 bytes each; older ones can still be read by their id. */
export const BATCH_LIST_COUNT_MAX = 200;

/** The newest batches of a client app, each scored by the end of its retention (epoch ms). */
export const batchListKey = (clientId: string): string => `batch-list:{${clientId}}`;
/** The batch as a whole: the accepted request, and the counts of its stored parts. */
export const batchKey = (requestId: string): string => `batch:${requestId}`;

/** `listBatch(key, requestId, retainUntilMs)` adds a batch to the list of its client app. */
export const LUA_LIST_BATCH = `
local function listBatch(key, requestId, retainUntilMs)
  redis.call('ZADD', key, retainUntilMs, requestId)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', redis.call('TIME')[1] * 1000)
  redis.call('ZREMRANGEBYRANK', key, 0, -${BATCH_LIST_COUNT_MAX + 1})
  redis.call('PEXPIREAT', key, retainUntilMs, 'NX')
  redis.call('PEXPIREAT', key, retainUntilMs, 'GT')
end
`;

const FIELDS = [
  'entries',
  'done',
  'parts',
  'partsDone',
  'acceptedAt',
  'evaluatedAt',
  'ruleSet',
  'abandoned',
] as const;

/**
 * KEYS: marker, list. ARGV: access, prefix of a batch's key, the id after which the page begins ('' for the first page),
 * most batches. Answers for each batch its id and the fields above.
 */
const READ_LIST = `${REQUIRE_VIEW}
local rank = ARGV[3] ~= '' and redis.call('ZREVRANK', KEYS[2], ARGV[3])
local first = rank and rank + 1 or 0
local found = {}
for _, requestId in ipairs(redis.call('ZREVRANGE', KEYS[2], first, first + ARGV[4] - 1)) do
  local fields = redis.call('HMGET', ARGV[2] .. requestId, ${FIELDS.map((name) => `'${name}'`).join(', ')})
  table.insert(fields, 1, requestId)
  table.insert(found, fields)
end
return found
`;

/** The status of a batch without the counts of its roles. */
export const BatchSummary = StoredBatchStatus.omit({ roles: true });
export type BatchSummary = Omit<StoredBatchStatus, 'roles'>;

/** The newest batches of each client app: a batch is added when it is begun, and leaves with its results. */
export type BatchList = {
  /** Newest first, from the batch behind `before` on. A `before` that is no longer listed begins with the newest. */
  readonly list: (
    clientId: string,
    page: { readonly countMax: number; readonly before?: string },
  ) => Promise<BatchSummary[]>;
};

/**
 * @example
 * const [newest] = await makeBatchList(redis).list('app_1', { countMax: 25 });
 */
export function makeBatchList(redis: Redis): BatchList {
  const read = makeScript<[string, ...(string | null)[]][]>(redis, READ_LIST);
  return {
    async list(clientId, { countMax, before = '' }) {
      const found = await read(
        [GENERATION_KEY, batchListKey(clientId)],
        [ORDINARY_ACCESS, batchKey(''), before, countMax],
      );
      return found.flatMap(([requestId, ...values]) => {
        const fields = new Map(FIELDS.map((name, place) => [name, values[place] ?? undefined] as const));
        return parseSummary(requestId, (name) => fields.get(name)) ?? [];
      });
    },
  };
}

/** The summary in the fields of a stored batch; undefined without fields. */
export function parseSummary(
  requestId: string,
  field: (name: (typeof FIELDS)[number]) => string | undefined,
): BatchSummary | undefined {
  const acceptedAt = field('acceptedAt');
  if (acceptedAt === undefined) return undefined;
  const countOf = (name: (typeof FIELDS)[number]) => Number(field(name) ?? 0);
  const isComplete = countOf('partsDone') >= countOf('parts');
  const [evaluatedAt, ruleSet] = [field('evaluatedAt'), field('ruleSet')];
  return {
    requestId,
    status: isComplete ? 'completed' : field('abandoned') !== undefined ? 'abandoned' : 'pending',
    entries: countOf('entries'),
    done: countOf('done'),
    acceptedAt,
    ...(isComplete && evaluatedAt !== undefined && { completedAt: evaluatedAt }),
    ...(ruleSet && { ruleSet: RuleSetReference.parse(JSON.parse(ruleSet)) }),
  };
}
