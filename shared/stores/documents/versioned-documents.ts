import { randomUUID } from 'node:crypto';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { isReplay, makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { PAGE_BYTES_MAX } from '#shared/redis/view.ts';

/**
 * Makes the index lead to a document from `wanted` and from nothing else. The index entries of a
 * document are stored beside it as well, so that entries leave the index with their documents.
 */
const SET_INDEX_LUA = `
local function setIndex(index, entries, id, wanted)
  local before = redis.call('HGET', entries, id) or '{}'
  if before == wanted then return end
  local old, new = cjson.decode(before), cjson.decode(wanted)
  for name, value in pairs(old) do
    if new[name] == nil and redis.call('HGET', index, name) == value then redis.call('HDEL', index, name) end
  end
  for name, value in pairs(new) do
    if old[name] ~= value then redis.call('HSET', index, name, value) end
  end
  if wanted == '{}' then redis.call('HDEL', entries, id) else redis.call('HSET', entries, id, wanted) end
end
`;

/**
 * KEYS: documents, index, index entries by id, summaries, sets that contain the document. ARGV: id,
 * version, the highest version that it replaces, document, channel ('' for none), index entries as a
 * JSON object, summary ('' for none), then member and score for each of the sets ('' to leave it).
 * The version precedes a stored document, so that no script need parse it.
 *
 * Of two documents of one version the view keeps the first, and the projector publishes that one
 * again behind the other. A replay reads both in the order of their offsets, so for it the last one
 * wins.
 */
const PROJECT = `${REQUIRE_VIEW}${SET_INDEX_LUA}
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local version = stored and tonumber(string.match(stored, '^(%d+) ')) or 0
if version > tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[4])
setIndex(KEYS[2], KEYS[3], ARGV[1], ARGV[6])
if ARGV[7] ~= '' then redis.call('HSET', KEYS[4], ARGV[1], ARGV[7]) end
local at = 8
for i = 5, #KEYS do
  if ARGV[at + 1] == '' then redis.call('ZREM', KEYS[i], ARGV[at])
  else redis.call('ZADD', KEYS[i], ARGV[at + 1], ARGV[at]) end
  at = at + 2
end
if ARGV[5] ~= '' then redis.call('PUBLISH', ofSystem(ARGV[5]), ARGV[1]) end
return 1
`;

/**
 * KEYS: documents, index, index entries by id, summaries, ended documents, further sets to leave.
 * ARGV: id, channel, now. A document that was written again meanwhile is not an ended one, and
 * stays.
 */
const REMOVE_ENDED = `${REQUIRE_VIEW}${SET_INDEX_LUA}
local endedAt = redis.call('ZSCORE', KEYS[5], ARGV[1])
if not endedAt or tonumber(endedAt) > tonumber(ARGV[3]) then return 0 end
setIndex(KEYS[2], KEYS[3], ARGV[1], '{}')
for i = 5, #KEYS do redis.call('ZREM', KEYS[i], ARGV[1]) end
redis.call('HDEL', KEYS[4], ARGV[1])
local removed = redis.call('HDEL', KEYS[1], ARGV[1])
if removed == 1 and ARGV[2] ~= '' then redis.call('PUBLISH', ofSystem(ARGV[2]), ARGV[1]) end
return removed
`;

/** KEYS: documents. ARGV: id, the version that the caller has ('' for none). 1 if
 * that is still the version. */
const READ = `${REQUIRE_VIEW}
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if stored and string.match(stored, '^(%d+) ') == ARGV[2] then return 1 end
return stored or false
`;

/** KEYS: documents, index. ARGV: index entry. */
const FIND = `${REQUIRE_VIEW}
local entry = redis.call('HGET', KEYS[2], ARGV[1])
if not entry then return false end
return redis.call('HGET', KEYS[1], string.match(entry, '^%S+')) or false
`;

/** How long a version is remembered that was leased and never seen: longer than a message can be on
 * its way. */
const LEASED_KEPT_MS = HOUR_MS;

/**
 * KEYS: documents, lease, highest version leased. ARGV: id, version before, lease
 * in ms, holder, '1' where the first version is the time in ms. Looked at and leased in one step: a
 * writer that read an older version, and was slow, leases nothing.
 *
 * The version is above every earlier leased version: a writer that gave up may still find its
 * document in the topic, and that one must stay the older of the two.
 */
const LEASE = `${REQUIRE_VIEW}
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local before = stored and string.match(stored, '^(%d+) ') or '0'
if before ~= ARGV[2] then return 0 end
if not redis.call('SET', KEYS[2], ARGV[4], 'NX', 'PX', ARGV[3]) then return 0 end
local floor = tonumber(before)
if floor == 0 and ARGV[5] == '1' then
  local time = redis.call('TIME')
  floor = time[1] * 1000 + math.floor(time[2] / 1000)
end
local version = math.max(floor, tonumber(redis.call('GET', KEYS[3]) or '0')) + 1
redis.call('SET', KEYS[3], version, 'PX', ${LEASED_KEPT_MS})
return version
`;

/** KEYS: lease. ARGV: holder. */
const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`;

/** A sorted set that a document has a member in; see `leased-slots.ts`. */
export type SetEntry = {
  readonly set: string;
  readonly member: string;
  /** Until when it is kept, epoch ms or `Infinity`; undefined if it is to be removed. */
  readonly untilMs: number | undefined;
};

const scoreOf = ({ untilMs }: SetEntry): string | number => {
  if (untilMs === undefined) return '';
  return untilMs === Infinity ? '+inf' : untilMs;
};

type Options<D> = {
  /** Redis key of the documents; see `keysOf` for the other keys. */
  readonly key: string;
  readonly parse: (json: unknown) => D;
  readonly idOf: (document: D) => string;
  /** Keys that find a document beside its id: each leads to a text whose first word is the id. */
  readonly indexOf: (document: D) => Readonly<Record<string, string>>;
  /** A summary of a document, for readers for which the whole would be too much. */
  readonly summaryOf?: (document: D) => string;
  readonly setsOf?: (document: D) => readonly SetEntry[];
  /** Told the id of every document that changed. */
  readonly channel?: string;
  /**
   * For documents whose ids are used again: versions begin at the time in ms, so that a document is
   * newer than a tombstone of its id which the view has dropped and the topic still has.
   */
  readonly startsAtClock?: boolean;
};

/** Erases the records of a key from the topic; see `KafkaConnection.erase`. */
export type EraseRecord = (key: string) => Promise<void>;

type Erasure = {
  readonly nowMs: number;
  readonly endedSet: string;
  readonly otherSets?: readonly string[];
  readonly eraseRecord: EraseRecord;
};

/** Longer than the erasure of a record may take, as for a write. */
const ERASE_LEASE_MS = 10_000;
export const ERASE_TIMEOUT_MS = 8_000;

/** The right to write a version of a document. It ends by itself, or by `release`. */
export type Lease = { readonly version: number; readonly release: () => Promise<unknown> };

/** A view of a compacted topic: whole documents; a newer version replaces an older one, in whatever
 * order they come. */
export type VersionedDocuments<D> = DocumentLists<D> & {
  /** Returns `known` itself, without parsing, if that is still the version in the view. */
  readonly read: (id: string, known?: D) => Promise<D | undefined>;
  readonly find: (indexEntry: string) => Promise<D | undefined>;
  /** Puts a document in; false if the view has the same or a newer version. */
  readonly project: (document: D) => Promise<boolean>;
  /**
   * Erases a document: from its topic, and from the view with all that leads to it. False if there
   * was none, if it is not in `endedSet` with a time of `nowMs` or earlier, or if a writer has it.
   */
  readonly eraseEnded: (id: string, erasure: Erasure) => Promise<boolean>;
  /**
   * Takes the right to write the next version behind `before` (0: there is none) for `leaseMs`;
   * undefined if another writer has it, or has written it already.
   */
  readonly lease: (id: string, before: number, leaseMs: number) => Promise<Lease | undefined>;
};

/** The Redis keys of a view: documents, index, index entries by id, summaries. Each is as large as
 * its documents are many. */
export const keysOf = (key: string) =>
  ({
    documents: key,
    index: `${key}:index`,
    entries: `${key}:entries`,
    summaries: `${key}:summaries`,
  }) as const;

export function makeVersionedDocuments<D extends { readonly version: number }>(
  redis: Redis,
  {
    key,
    parse,
    idOf,
    indexOf,
    summaryOf = () => '',
    setsOf = () => [],
    channel = '',
    startsAtClock = false,
  }: Options<D>,
): VersionedDocuments<D> {
  const project = makeScript<number>(redis, PROJECT);
  const read = makeScript<string | 1 | null>(redis, READ);
  const find = makeScript<string | null>(redis, FIND);
  const lease = makeScript<number>(redis, LEASE);
  const release = makeScript<number>(redis, RELEASE);
  const removeEnded = makeScript<number>(redis, REMOVE_ENDED);
  const { documents, index, entries, summaries } = keysOf(key);
  const keys = [documents, index, entries, summaries];
  const open = (stored: string): D => parse(JSON.parse(stored.slice(stored.indexOf(' ') + 1)));
  const openFound = (stored: string | null) => (stored === null ? undefined : open(stored));
  const readOne = async (id: string, known?: D) => {
    const stored = await read(keys, [id, known?.version ?? '']);
    return stored === 1 ? known : openFound(stored);
  };
  const takeLease = async (id: string, before: number, leaseMs: number): Promise<Lease | undefined> => {
    const leaseKey = `lease:${key}:${id}:${before + 1}`;
    const holder = randomUUID();
    const places = [key, leaseKey, `leased:${key}:${id}`];
    const clock = startsAtClock ? '1' : '';
    const version = await lease(places, [id, before, leaseMs, holder, clock]);
    return version === 0 ? undefined : { version, release: () => release([leaseKey], [holder]) };
  };
  return {
    ...makeDocumentLists(redis, { key, open, idOf }),
    read: readOne,
    find: async (indexEntry) => openFound(await find(keys, [indexEntry])),
    async project(document) {
      const { version } = document;
      const stored = [
        idOf(document),
        version,
        isReplay(redis) ? version : version - 1,
        JSON.stringify(document),
      ];
      const found = [JSON.stringify(indexOf(document)), summaryOf(document)];
      const sets = setsOf(document);
      const members = sets.flatMap((entry) => [entry.member, scoreOf(entry)]);
      const places = [...keys, ...sets.map(({ set }) => set)];
      return (await project(places, [...stored, channel, ...found, ...members])) === 1;
    },
    async eraseEnded(id, { nowMs, endedSet, otherSets = [], eraseRecord }) {
      // Nobody else writes the document meanwhile: a new one of its id comes behind the erasure. The
      // lease ends by itself where it is unknown whether the record was written.
      const lease = await takeLease(id, (await readOne(id))?.version ?? 0, ERASE_LEASE_MS);
      if (!lease) return false;
      const endedAt = await inStore(() => redis.zscore(endedSet, id));
      const isEnded = endedAt !== null && Number(endedAt) <= nowMs;
      if (isEnded) await eraseRecord(id);
      const places = [...keys, endedSet, ...otherSets];
      const removed = isEnded && (await removeEnded(places, [id, channel, nowMs]));
      await lease.release();
      return removed === 1;
    },
    lease: takeLease,
  };
}

/** KEYS: set. */
const LIST_IDS = `${REQUIRE_VIEW}
return redis.call('ZRANGE', KEYS[1], 0, -1)
`;

/** Documents of one page of a set. */
const PAGE_DOCUMENTS_MAX = 500;

/** A step through all documents: about `SCAN_COUNT` of them, and the cursor of the next step, if
 * there is one. */
export type DocumentScan<D> = (
  cursor: string,
) => Promise<{ readonly documents: readonly D[]; readonly cursor: string | undefined }>;

/** All documents, in steps; one that changes meanwhile may come twice. */
export async function* eachDocument<D>(scan: DocumentScan<D>): AsyncGenerator<D> {
  for (let cursor: string | undefined = '0'; cursor !== undefined; ) {
    const step: Awaited<ReturnType<DocumentScan<D>>> = await scan(cursor);
    yield* step.documents;
    cursor = step.cursor;
  }
}

/** Documents that a step reads. One has up to 300 kB, and a few hundred bytes as a rule. */
const SCAN_COUNT = 100;

/** Many documents of a view, never all of them in one reply of Redis. */
type DocumentLists<D> = {
  /** What `select` returns for each document, in no order. Documents are read in steps, and may
   * change meanwhile. */
  readonly list: <T>(select: (document: D) => T) => Promise<T[]>;
  /** The documents behind a cursor, in no order; see `searchDocuments`. */
  readonly scan: DocumentScan<D>;
  /** What `select` returns for each document whose id is in a set. Documents are read in pages. */
  readonly listSet: <T>(set: string, select: (document: D) => T) => Promise<T[]>;
};

type ListOptions<D> = {
  /** Redis key of the documents. */
  readonly key: string;
  readonly open: (stored: string) => D;
  readonly idOf: (document: D) => string;
};

function makeDocumentLists<D>(redis: Redis, { key, open, idOf }: ListOptions<D>): DocumentLists<D> {
  const listIds = makeScript<string[]>(redis, LIST_IDS);
  const readPage = makeReadPage(redis);
  const scan: DocumentScan<D> = async (cursor) => {
    const [next, flat] = await inStore(
      () => redis.hscan(key, cursor, 'COUNT', SCAN_COUNT),
      LISTING_TIMEOUT_MS,
    );
    const documents = flat.flatMap((stored, i) => (i % 2 === 1 ? [open(stored)] : []));
    return { documents, cursor: next === '0' ? undefined : next };
  };
  return {
    async list<T>(select: (document: D) => T) {
      // By id: a step may return a document again.
      const selected = new Map<string, T>();
      for await (const document of eachDocument(scan)) selected.set(idOf(document), select(document));
      return [...selected.values()];
    },
    scan,
    async listSet<T>(set: string, select: (document: D) => T) {
      const ids = await listIds([set], []);
      const selected: T[] = [];
      for (let at = 0; at < ids.length; ) {
        const texts = await readPage([key], ids.slice(at, at + PAGE_DOCUMENTS_MAX));
        for (const text of texts) if (text !== '') selected.push(select(open(text)));
        at += texts.length;
      }
      return selected;
    },
  };
}

/**
 * KEYS: hashes. ARGV: most bytes, then for each id the index of its hash among the keys, and the id.
 * Returns documents from the first id on until they have the most bytes, at least one; '' for an id
 * without a document.
 */
const READ_PAGE = `${REQUIRE_VIEW}
local found, bytes = {}, 0
for i = 2, #ARGV, 2 do
  local stored = redis.call('HGET', KEYS[tonumber(ARGV[i])], ARGV[i + 1]) or ''
  bytes = bytes + #stored
  if #found > 0 and bytes > tonumber(ARGV[1]) then break end
  found[#found + 1] = stored
end
return found
`;

/** The stored texts of the first of these ids, at least one, together about 1 MiB; '' where there
 * is none. */
type ReadPage = (
  hashes: readonly string[],
  ids: readonly string[],
  /** The index of the hash of each id, from 1 on; by default all are in the first one. */
  places?: readonly number[],
) => Promise<string[]>;

export function makeReadPage(redis: Redis): ReadPage {
  const read = makeScript<string[]>(redis, READ_PAGE);
  return (hashes, ids, places) =>
    read(hashes, [PAGE_BYTES_MAX, ...ids.flatMap((id, i) => [places?.[i] ?? 1, id])]);
}
