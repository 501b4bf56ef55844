import type { BatchPartCompleted, RoleCounts } from '#shared/contracts/batch.ts';
import type { BatchStatus } from '#shared/contracts/batch-status.ts';
import { RuleSetReference } from '#shared/contracts/rule.ts';
import { DAY_MS } from '../contracts/durations.ts';
import { monthCounterKey } from './admit.ts';
import { COUNT_FINISHED, READ_PART, READ_STATUS, REGISTER, SAVE_PART } from './batch-scripts.ts';
import { inStore, type Redis } from './connect.ts';
import { wantedKey } from './results.ts';
import { makeBinaryScript, makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, type ViewAccess } from './view.ts';

/** The batch as a whole: what was accepted, and the counts of its stored parts. */
export const batchKey = (requestId: string): string => `batch:${requestId}`;
/** The compressed lines of each stored part, by the part's number. */
const linesKey = (requestId: string): string => `batch:${requestId}:lines`;
/** The stored parts in the order of their entries: `<part>:<line count>`, scored by the place of the first entry. */
const indexKey = (requestId: string): string => `batch:${requestId}:index`;
/** A client app's unfinished batches, each scored by when it no longer counts (epoch ms). */
export const unfinishedBatchesKey = (clientId: string): string => `places:batches:{${clientId}}`;
/** All unfinished batches, scored by their acceptance (epoch ms). */
export const UNFINISHED_BATCHES_KEY = 'batches:unfinished';
/** An unfinished batch whose results are no longer kept is none. */
const UNFINISHED_MS_MAX = 8 * DAY_MS;

/** A batch as it was accepted. */
export type AcceptedBatch = Pick<
  BatchPartCompleted,
  'requestId' | 'clientId' | 'entryCount' | 'partCount' | 'acceptedAt' | 'retainUntil' | 'ruleSet'
> & {
  /** In the order in which the rules name the roles first. */
  readonly roleIds: readonly string[];
};

export type SavedPart = {
  /** False for a copy: the part was stored before. */
  readonly isFirst: boolean;
  /** Whether all parts of the batch are stored. */
  readonly isComplete: boolean;
};

/** The results of consecutive entries, as they are stored. */
export type StoredLines = {
  /** Place in the batch of the first line. */
  readonly firstIndex: number;
  readonly lineCount: number;
  /** One line of JSON per entry, compressed by gzip. */
  readonly gzip: Buffer;
};

export type BatchProgress = {
  readonly clientId: string;
  readonly partCount: number;
  readonly storedPartCount: number;
};

/** Stored batches: what result-store writes and the gateway reads. Keys, counts and time to live are decided here. */
export type Batches = {
  /** Registers an accepted batch, unless it is registered. */
  readonly register: (batch: AcceptedBatch, access?: ViewAccess) => Promise<void>;
  /**
   * Stores a part unless it is stored, and counts it. The first save also gives its `refundCount` back to the month,
   * unless `isRefunded` is false; the last part ends the batch: it frees the app's slot and wakes who waits for it.
   */
  readonly savePart: (
    part: BatchPartCompleted,
    options?: { readonly access?: ViewAccess; readonly isRefunded?: boolean },
  ) => Promise<SavedPart>;
  /** Nothing where the batch was never registered, or is no longer kept. */
  readonly readStatus: (requestId: string) => Promise<BatchStatus | undefined>;
  /** Whose batch it is, and how many of its parts are stored; nothing as for `readStatus`. */
  readonly readProgress: (requestId: string) => Promise<BatchProgress | undefined>;
  /** The stored part that holds the entry at this place; nothing while it is not finished. */
  readonly readPart: (requestId: string, index: number) => Promise<StoredLines | undefined>;
  /** How many entries from this place on are finished without a gap, up to `countMax`. */
  readonly countFinished: (requestId: string, index: number, countMax: number) => Promise<number>;
  /** How many batches are unfinished, over all client apps. */
  readonly countUnfinished: (nowMs: number) => Promise<number>;
};

/**
 * @example
 * const batches = makeBatches(redis);
 * const { isComplete } = await batches.savePart(part);
 * const lines = await batches.readPart(requestId, 500); // the part of entry 500
 */
export function makeBatches(redis: Redis): Batches {
  const register = makeScript<number>(redis, 'registerBatch', REGISTER);
  const save = makeScript<[number, number]>(redis, 'saveBatchPart', SAVE_PART);
  const countFinished = makeScript<number>(redis, 'countFinishedEntries', COUNT_FINISHED);
  const readStatus = makeScript<string[]>(redis, 'readBatchStatus', READ_STATUS);
  const readPart = makeBinaryScript<[Buffer, Buffer, Buffer] | null>(redis, 'readBatchPart', READ_PART);
  return {
    async register(batch, access = EVERYDAY) {
      await register(registrationKeysOf(batch), registrationArgumentsOf(batch, access));
    },
    async savePart(part, { access = EVERYDAY, isRefunded = true } = {}) {
      const { requestId, clientId, chargedMonth, roles } = part;
      const refundCount = isRefunded && chargedMonth !== undefined ? part.refundCount : 0;
      const monthKey = monthCounterKey(clientId, chargedMonth ?? 'none');
      const [isFirst, isComplete] = await save(
        [
          ...registrationKeysOf(part),
          linesKey(requestId),
          indexKey(requestId),
          wantedKey(requestId),
          monthKey,
        ],
        [
          ...registrationArgumentsOf({ ...part, roleIds: roles.map(({ id }) => id) }, access),
          part.part,
          part.firstIndex,
          part.lineCount,
          part.evaluatedAt,
          Buffer.from(part.linesGzip, 'base64'),
          refundCount,
          ...roles.flatMap(({ id, granted, denied, undetermined }) => [id, granted, denied, undetermined]),
        ],
      );
      return { isFirst: isFirst === 1, isComplete: isComplete === 1 };
    },
    async readStatus(requestId) {
      return parseStatus(requestId, await readStatus([GENERATION_KEY, batchKey(requestId)], [EVERYDAY]));
    },
    async readProgress(requestId) {
      const fields = fieldsOf(await readStatus([GENERATION_KEY, batchKey(requestId)], [EVERYDAY]));
      if (fields.size === 0) return undefined;
      return {
        clientId: fields.get('clientId') ?? '',
        partCount: Number(fields.get('parts') ?? 0),
        storedPartCount: Number(fields.get('partsDone') ?? 0),
      };
    },
    async readPart(requestId, index) {
      const keys = [GENERATION_KEY, indexKey(requestId), linesKey(requestId)];
      const found = await readPart(keys, [EVERYDAY, index]);
      if (found === null) return undefined;
      const [firstIndex, lineCount, gzip] = found;
      return { firstIndex: Number(firstIndex), lineCount: Number(lineCount), gzip };
    },
    countFinished: (requestId, index, countMax) =>
      countFinished([GENERATION_KEY, indexKey(requestId)], [EVERYDAY, index, countMax]),
    countUnfinished: (nowMs) =>
      inStore(async () => {
        await redis.zremrangebyscore(UNFINISHED_BATCHES_KEY, '-inf', nowMs - UNFINISHED_MS_MAX);
        return redis.zcard(UNFINISHED_BATCHES_KEY);
      }),
  };
}

/** As `LUA_REGISTER_BATCH` expects them, behind the marker. */
export const registrationKeysOf = ({
  requestId,
  clientId,
}: Pick<AcceptedBatch, 'requestId' | 'clientId'>): string[] => [
  GENERATION_KEY,
  batchKey(requestId),
  unfinishedBatchesKey(clientId),
  UNFINISHED_BATCHES_KEY,
];

export const registrationArgumentsOf = (batch: AcceptedBatch, access: ViewAccess): (string | number)[] => [
  access,
  batch.requestId,
  batch.clientId,
  batch.entryCount,
  batch.partCount,
  batch.acceptedAt,
  Date.parse(batch.acceptedAt),
  Date.parse(batch.retainUntil),
  batch.ruleSet === undefined ? '' : JSON.stringify(batch.ruleSet),
  JSON.stringify(batch.roleIds),
];

/** The reply of HGETALL as a map. */
function fieldsOf(flat: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) fields.set(flat[i] ?? '', flat[i + 1] ?? '');
  return fields;
}

function parseStatus(requestId: string, flat: readonly string[]): BatchStatus | undefined {
  const fields = fieldsOf(flat);
  const [acceptedAt, ruleSet, evaluatedAt] = ['acceptedAt', 'ruleSet', 'evaluatedAt'].map((name) =>
    fields.get(name),
  );
  if (acceptedAt === undefined) return undefined;
  const countOf = (name: string) => Number(fields.get(name) ?? 0);
  const isComplete = countOf('partsDone') >= countOf('parts');
  const roleIds = JSON.parse(fields.get('roleIds') ?? '[]') as string[];
  const roles = roleIds.map(
    (id): RoleCounts => ({
      id,
      granted: countOf(`granted:${id}`),
      denied: countOf(`denied:${id}`),
      undetermined: countOf(`undetermined:${id}`),
    }),
  );
  return {
    requestId,
    status: isComplete ? 'completed' : 'pending',
    entries: countOf('entries'),
    done: countOf('done'),
    roles,
    acceptedAt,
    ...(isComplete && evaluatedAt !== undefined && { completedAt: evaluatedAt }),
    ...(ruleSet && { ruleSet: RuleSetReference.parse(JSON.parse(ruleSet)) }),
  };
}
