import { type BatchPartCompleted, isLastPart, type RoleCounts } from '#shared/contracts/batches/batch.ts';
import type { StoredBatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { countPart } from '#shared/contracts/usage/day-figures.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeBinaryScript, makeScript } from '#shared/redis/script.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, type ViewAccess } from '#shared/redis/view.ts';
import { monthCounterKey } from '../checks/admit.ts';
import { wantedKey } from '../checks/results.ts';
import { dayOfDate, hourOf, textOfFigures, usageDayKey, usageHourKey } from '../usage/usage-days.ts';
import { batchKey, batchListKey, parseSummary } from './batch-list.ts';
import {
  ABANDON,
  ABANDONED_AFTER_MS,
  BEGIN,
  COUNT_FINISHED,
  READ_PART,
  READ_STATUS,
  REGISTER,
  SAVE_PART,
  WITHDRAW,
} from './batch-scripts.ts';

/** The compressed lines of each stored part, by the part's number. */
const linesKey = (requestId: string): string => `batch:${requestId}:lines`;
/** The stored parts in the order of their entries: `<part>:<line count>`, scored by the index of the first entry. */
const indexKey = (requestId: string): string => `batch:${requestId}:index`;
/** A client app's unfinished batches, each scored by when it no longer counts (epoch ms). */
export const unfinishedBatchesKey = (clientId: string): string => `places:batches:{${clientId}}`;
/** All unfinished batches, scored by their acceptance (epoch ms). */
const UNFINISHED_BATCHES_KEY = 'batches:unfinished';
/** Batches that were begun and are not accepted yet, scored by the last attempt (epoch ms). */
const PUBLISHING_KEY = 'batches:publishing';
/** An unfinished batch whose results are no longer kept is none. */
const UNFINISHED_MS_MAX = 8 * DAY_MS;

/** A batch as it is accepted. */
export type AcceptedBatch = Pick<
  BatchPartCompleted,
  | 'requestId'
  | 'clientId'
  | 'accountId'
  | 'entryCount'
  | 'partCount'
  | 'acceptedAt'
  | 'retainUntil'
  | 'ruleSet'
> & {
  /** In the order in which the rules name the roles first. */
  readonly roleIds: readonly string[];
};

/** The quota that a batch is charged to. */
export type BatchCharge = { readonly month: string; readonly checksMax: number };

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

/** Stored batches: result-store writes, the gateway reads. Keys, counts and time to live are decided here. */
export type Batches = {
  /**
   * Records that a batch is being published, so that it is abandoned unless it is accepted in time.
   *
   * @param charge the counter that its entries were charged to; undefined if nothing was charged
   * @param seed of its admission, which holds its entries until now
   * @returns false if it was abandoned meanwhile, and the rest of the monthly quota is too small to charge it again
   */
  readonly begin: (batch: AcceptedBatch, charge: BatchCharge | undefined, seed: string) => Promise<boolean>;
  /** Undoes `begin` for a batch if surely none of its parts was published, and frees its slot. */
  readonly withdraw: (
    batch: Pick<AcceptedBatch, 'requestId' | 'clientId'> & { readonly seed: string },
  ) => Promise<void>;
  /**
   * Registers a batch, unless it is registered.
   *
   * @param isAccepted whether all of its parts are published
   */
  readonly register: (batch: AcceptedBatch, isAccepted: boolean, access?: ViewAccess) => Promise<void>;
  /**
   * Abandons batches that were not accepted within this time: refunds their entries without results, and says so in
   * the status. Parts that come later are stored and charged all the same, and a retry publishes the batch again.
   *
   * @returns how many, at most `countMax`
   */
  readonly abandon: (countMax: number, idleMs?: number) => Promise<number>;
  /**
   * Stores a part unless it is stored, and counts it. The first save also refunds its `refundCount` to the month and
   * adds to the figures of the day, unless `isTallied` is false; the last part ends the batch: it frees the app's slot and notifies the waiting gateways.
   */
  readonly savePart: (
    part: BatchPartCompleted,
    options?: { readonly access?: ViewAccess; readonly isTallied?: boolean },
  ) => Promise<SavedPart>;
  /** Nothing where the batch was never registered, or is no longer kept. */
  readonly readStatus: (requestId: string) => Promise<StoredBatchStatus | undefined>;
  /** Whose batch it is, and how many of its parts are stored; nothing as for `readStatus`. */
  readonly readProgress: (requestId: string) => Promise<BatchProgress | undefined>;
  /** The stored part that holds the entry at this index; nothing while it is not finished. */
  readonly readPart: (requestId: string, index: number) => Promise<StoredLines | undefined>;
  /** How many entries from this index on are finished without a gap, up to `countMax`. */
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
  const begin = makeScript<number>(redis, BEGIN);
  const withdraw = makeScript<number>(redis, WITHDRAW);
  const register = makeScript<number>(redis, REGISTER);
  const abandon = makeScript<number>(redis, ABANDON);
  const save = makeScript<[number, number]>(redis, SAVE_PART);
  const countFinished = makeScript<number>(redis, COUNT_FINISHED);
  const readStatus = makeScript<string[]>(redis, READ_STATUS);
  const readPart = makeBinaryScript<[Buffer, Buffer, Buffer] | null>(redis, READ_PART);
  return {
    async begin(batch, charge, seed) {
      const counter = charge ? monthCounterKey(batch.clientId, charge.month) : '';
      const isBegun = await begin(
        [...registrationKeysOf(batch), counter],
        [
          ...registrationArgumentsOf(batch, false, ORDINARY_ACCESS),
          charge?.month ?? '',
          charge?.checksMax ?? 0,
          seed,
        ],
      );
      return isBegun === 1;
    },
    async withdraw(batch) {
      await withdraw(registrationKeysOf(batch), [ORDINARY_ACCESS, batch.requestId, batch.seed]);
    },
    async register(batch, isAccepted, access = ORDINARY_ACCESS) {
      await register(registrationKeysOf(batch), registrationArgumentsOf(batch, isAccepted, access));
    },
    abandon: (countMax, idleMs = ABANDONED_AFTER_MS) =>
      abandon([GENERATION_KEY, PUBLISHING_KEY], [ORDINARY_ACCESS, idleMs, countMax]),
    async savePart(part, { access = ORDINARY_ACCESS, isTallied = true } = {}) {
      const { requestId, clientId, chargedMonth, roles } = part;
      const refundCount = isTallied && chargedMonth !== undefined ? part.refundCount : 0;
      const { date, figures } = countPart(part);
      const monthKey = monthCounterKey(clientId, chargedMonth ?? 'none');
      const [isFirst, isComplete] = await save(
        [
          ...registrationKeysOf(part),
          linesKey(requestId),
          indexKey(requestId),
          wantedKey(requestId),
          monthKey,
          usageDayKey(clientId, dayOfDate(date)),
          usageHourKey(clientId, hourOf(Date.parse(part.acceptedAt))),
        ],
        [
          ...registrationArgumentsOf(
            { ...part, roleIds: roles.map(({ id }) => id) },
            isLastPart(part),
            access,
          ),
          part.part,
          part.firstIndex,
          part.lineCount,
          part.evaluatedAt,
          Buffer.from(part.linesGzip, 'base64'),
          refundCount,
          isTallied ? textOfFigures(figures) : '',
          ...roles.flatMap(({ id, granted, denied, undetermined }) => [id, granted, denied, undetermined]),
        ],
      );
      return { isFirst: isFirst === 1, isComplete: isComplete === 1 };
    },
    async readStatus(requestId) {
      return parseStatus(
        requestId,
        await readStatus([GENERATION_KEY, batchKey(requestId)], [ORDINARY_ACCESS]),
      );
    },
    async readProgress(requestId) {
      const fields = fieldsOf(await readStatus([GENERATION_KEY, batchKey(requestId)], [ORDINARY_ACCESS]));
      if (fields.size === 0) return undefined;
      return {
        clientId: fields.get('clientId') ?? '',
        partCount: Number(fields.get('parts') ?? 0),
        storedPartCount: Number(fields.get('partsDone') ?? 0),
      };
    },
    async readPart(requestId, index) {
      const keys = [GENERATION_KEY, indexKey(requestId), linesKey(requestId)];
      const found = await readPart(keys, [ORDINARY_ACCESS, index]);
      if (found === null) return undefined;
      const [firstIndex, lineCount, gzip] = found;
      return { firstIndex: Number(firstIndex), lineCount: Number(lineCount), gzip };
    },
    countFinished: (requestId, index, countMax) =>
      countFinished([GENERATION_KEY, indexKey(requestId)], [ORDINARY_ACCESS, index, countMax]),
    countUnfinished: (nowMs) =>
      inStore(async () => {
        await redis.zremrangebyscore(UNFINISHED_BATCHES_KEY, '-inf', nowMs - UNFINISHED_MS_MAX);
        return redis.zcard(UNFINISHED_BATCHES_KEY);
      }),
  };
}

/** As `LUA_REGISTER_BATCH` expects them, behind the marker. */
const registrationKeysOf = ({
  requestId,
  clientId,
}: Pick<AcceptedBatch, 'requestId' | 'clientId'>): string[] => [
  GENERATION_KEY,
  batchKey(requestId),
  unfinishedBatchesKey(clientId),
  UNFINISHED_BATCHES_KEY,
  PUBLISHING_KEY,
  batchListKey(clientId),
];

const registrationArgumentsOf = (
  batch: AcceptedBatch,
  isAccepted: boolean,
  access: ViewAccess,
): (string | number)[] => [
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
  isAccepted ? 1 : 0,
  batch.accountId,
];

/** The reply of HGETALL as a map. */
function fieldsOf(flat: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) fields.set(flat[i] ?? '', flat[i + 1] ?? '');
  return fields;
}

function parseStatus(requestId: string, flat: readonly string[]): StoredBatchStatus | undefined {
  const fields = fieldsOf(flat);
  const summary = parseSummary(requestId, (name) => fields.get(name));
  if (!summary) return undefined;
  const countOf = (name: string) => Number(fields.get(name) ?? 0);
  const roleIds = JSON.parse(fields.get('roleIds') ?? '[]') as string[];
  const roles = roleIds.map(
    (id): RoleCounts => ({
      id,
      granted: countOf(`granted:${id}`),
      denied: countOf(`denied:${id}`),
      undetermined: countOf(`undetermined:${id}`),
    }),
  );
  return { ...summary, roles };
}
