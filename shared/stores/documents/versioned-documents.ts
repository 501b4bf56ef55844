import { randomUUID } from 'node:crypto';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { makeHolds } from '#shared/redis/holds.ts';
import { isReplay, makeScript, REQUIRE_VIEW, viewCommand } from '#shared/redis/script.ts';
import { PAGE_BYTES_MAX } from '#shared/redis/view.ts';

/**
 * Makes the index lead to a document from the names in `wanted` and from no others, and puts it
 * into the sets in `wanted` and into no others. They are stored beside the document as well, so
 * that it leaves those that it had before.
 */
const SET_INDEX_LUA = `
local function setIndex(index, entries, id, wanted)
  local old, new = cjson.decode(redis.call('HGET', entries, id) or '{}'), cjson.decode(wanted)
  for name, value in pairs(old.names or {}) do
    if new.names[name] == nil and redis.call('HGET', index, name) == value then redis.call('HDEL', index, name) end
  end
  for name, value in pairs(new.names) do redis.call('HSET', index, name, value) end
  for name in pairs(old.sets or {}) do
    local set, member = string.match(name, '^(%S+) (%S+)$')
    if new.sets[name] == nil then redis.call('ZREM', ofSystem(set), member) end
  end
  for name, score in pairs(new.sets) do
    local set, member = string.match(name, '^(%S+) (%S+)$')
    redis.call('ZADD', ofSystem(set), score, member)
  end
  redis.call('HSET', entries, id, wanted)
end
`;

/**
 * KEYS: documents, index, index entries by id, summaries. ARGV: id, version, the highest version
 * that it replaces, document, channel, index entries (JSON), summary ('' for none).
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
redis.call('PUBLISH', ofSystem(ARGV[5]), ARGV[1])
return 1
`;

/**
 * KEYS: documents, index, index entries by id, summaries, ended documents. ARGV: id, channel, now.
 * A document that was written again meanwhile is not an ended one, and stays.
 */
const REMOVE_ENDED = `${REQUIRE_VIEW}${SET_INDEX_LUA}
local endedAt = redis.call('ZSCORE', KEYS[5], ARGV[1])
if not endedAt or tonumber(endedAt) > tonumber(ARGV[3]) then return 0 end
setIndex(KEYS[2], KEYS[3], ARGV[1], '{"names":{},"sets":{}}')
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[1])
local removed = redis.call('HDEL', KEYS[1], ARGV[1])
if removed == 1 then redis.call('PUBLISH', ofSystem(ARGV[2]), ARGV[1]) end
return removed
`;

/** KEYS: documents. ARGV: id, the version that the caller has ('' for none). 1 if
 * that is still the version. */
const READ = `${REQUIRE_VIEW}
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if stored and string.match(stored, '^(%d+) ') == ARGV[2] then return 1 end
return stored or false
`;

/** How long a version is remembered that was leased and never seen: longer than a message can be on
 * its way. */
const LEASED_KEPT_MS = HOUR_MS;

/**
 * KEYS: documents, lease, highest version leased. ARGV: id, version before, lease in ms, holder. Looked
 * at and leased in one step: a writer that read an older version, and was slow, leases nothing.
 *
 * The version is above every earlier leased version: a writer that gave up may still find its
 * document in the topic, and that one must stay the older of the two. Ids are used again: the first
 * version is the time in ms, so that a document is newer than a tombstone of its id which the view
 * has dropped and the topic still has.
 */
const LEASE = `${REQUIRE_VIEW}${LUA_NOW}
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local before = stored and string.match(stored, '^(%d+) ') or '0'
if before ~= ARGV[2] then return 0 end
if not redis.call('SET', KEYS[2], ARGV[4], 'NX', 'PX', ARGV[3]) then return 0 end
local floor = before == '0' and now or tonumber(before)
local version = math.max(floor, tonumber(redis.call('GET', KEYS[3]) or '0')) + 1
redis.call('SET', KEYS[3], version, 'PX', ${LEASED_KEPT_MS})
return version
`;

/** A sorted set that a document has a member in; see `leased-slots.ts`. Neither has a space in its
 * name. */
export type SetEntry = {
  readonly set: string;
  readonly member: string;
  /** Until when it is kept, epoch ms or `Infinity`. */
  readonly untilMs: number;
};

type Document = { readonly version: number; readonly deletedAt?: string | undefined };

export const liveOf = <D extends Omit<Document, 'version'>>(document: D | undefined): D | undefined =>
  document?.deletedAt === undefined ? document : undefined;

/** Keeps a document unless a newer version of it is kept; of two records of one version the last, as
 * compaction does. The entries are in the order of the records that compaction leaves. */
export function keepNewest<D extends Pick<Document, 'version'>>(
  newest: Map<string, D>,
  key: string,
  document: D,
): void {
  if (document.version < (newest.get(key)?.version ?? 0)) return;
  newest.delete(key);
  newest.set(key, document);
}

type Options<D> = {
  /** Redis key of the documents; see `keysOf` for the other keys. */
  readonly key: string;
  readonly parse: (json: unknown) => D;
  readonly idOf: (document: D) => string;
  /** Keys that find a document beside its id: each leads to a text whose first word is the id.
   * Default: none. */
  readonly indexOf?: (document: D) => Readonly<Record<string, string>>;
  /** A summary of a document, for readers for which the whole would be too much. */
  readonly summaryOf?: (document: D) => string;
  readonly setsOf?: (document: D) => readonly SetEntry[];
  /** How long the tombstone of a deleted document is kept. Default 0. */
  readonly tombstoneMs?: number;
  /** Told the id of every document that changed. */
  readonly channel: string;
};

/** Erases the records of a key from the topic; see `KafkaConnection.erase`. */
export type EraseRecord = (key: string) => Promise<void>;

/** Longer than the erasure of a record may take, as for a write. */
const ERASE_LEASE_MS = 10_000;
export const ERASE_TIMEOUT_MS = 8_000;

/** The right to write a version of a document. It ends by itself, or by `release`. */
type Lease = { readonly version: number; readonly release: () => Promise<unknown> };

/** The documents of an owner behind an id (default: from the first on): at most `countMax`, fewer
 * where they have more bytes. */
export type OwnedPage = {
  readonly after?: string | undefined;
  readonly countMax: number;
  /** Default 1 MiB; one document always fits. */
  readonly bytesMax?: number;
};

/** A view of a compacted topic: whole documents; a newer version replaces an older one, in whatever
 * order they come. */
export type VersionedDocuments<D extends Document> = ReturnType<typeof makeVersionedDocuments<D>>;

/** The Redis keys of a view: documents, index, index entries by id, summaries. Each is as large as
 * its documents are many. */
export const keysOf = (key: string) =>
  ({
    documents: key,
    index: `${key}:index`,
    entries: `${key}:entries`,
    summaries: `${key}:summaries`,
  }) as const;

export function makeVersionedDocuments<D extends Document>(
  redis: Redis,
  {
    key,
    parse,
    idOf,
    indexOf = () => ({}),
    summaryOf = () => '',
    setsOf = () => [],
    tombstoneMs = 0,
    channel,
  }: Options<D>,
) {
  const project = makeScript<number>(redis, PROJECT);
  const read = makeScript<string | 1 | null>(redis, READ);
  const findEntry = makeScript<string | null>(redis, viewCommand('HGET'));
  const lease = makeScript<number>(redis, LEASE);
  const removeEnded = makeScript<number>(redis, REMOVE_ENDED);
  const listIds = makeScript<string[]>(redis, viewCommand('ZRANGE'));
  const readPage = makeReadPage(redis);
  const holds = makeHolds(redis);
  const keys = Object.values(keysOf(key));
  /** Deleted documents by when they may be erased. */
  const endedSet = `${key}:ended`;
  const open = (stored: string): D => parse(JSON.parse(stored.slice(stored.indexOf(' ') + 1)));
  /** As the scripts decode it: each set with the member in it, and the score. */
  const indexed = (document: D): string => {
    const { deletedAt } = document;
    const sets = setsOf(document).map(({ set, member, untilMs }) => [
      `${set} ${member}`,
      untilMs === Infinity ? '+inf' : `${untilMs}`,
    ]);
    if (deletedAt !== undefined)
      sets.push([`${endedSet} ${idOf(document)}`, `${Date.parse(deletedAt) + tombstoneMs}`]);
    return JSON.stringify({ names: indexOf(document), sets: Object.fromEntries(sets) });
  };
  const readOne = async (id: string, known?: D): Promise<D | undefined> => {
    const stored = await read(keys, [id, known?.version ?? '']);
    if (stored === 1) return known;
    return stored === null ? undefined : open(stored);
  };
  const takeLease = async (id: string, before: number, leaseMs: number): Promise<Lease | undefined> => {
    const leaseKey = `lease:${key}:${id}:${before + 1}`;
    const holder = randomUUID();
    const version = await lease([key, leaseKey, `leased:${key}:${id}`], [id, before, leaseMs, holder]);
    return version === 0 ? undefined : { version, release: () => holds.release(leaseKey, holder) };
  };
  const scan: DocumentScan<D> = async (cursor) => {
    const [next, flat] = await inStore(
      () => redis.hscan(key, cursor, 'COUNT', SCAN_COUNT),
      LISTING_TIMEOUT_MS,
    );
    const documents = flat.flatMap((stored, i) => (i % 2 === 1 ? [open(stored)] : []));
    return { documents, cursor: next === '0' ? undefined : next };
  };
  /** Ids of documents that may be erased since `untilMs` or longer, the first deleted first. */
  const listEnded = (untilMs: number, countMax: number): Promise<string[]> =>
    inStore(() => redis.zrangebyscore(endedSet, '-inf', untilMs, 'LIMIT', 0, countMax));
  /** Erases a document, from its topic, and from the view with all that leads to it: unless it may not
   * be erased yet, or a writer has it. */
  const erase = async (id: string, untilMs: number, eraseRecord: EraseRecord): Promise<void> => {
    const document = await readOne(id);
    // Nobody else writes the document meanwhile: a new one of its id comes behind the erasure. The
    // lease ends by itself where it is unknown whether the record was written.
    const lease = await takeLease(id, document?.version ?? 0, ERASE_LEASE_MS);
    if (!lease) return;
    const endedAt = await inStore(() => redis.zscore(endedSet, id));
    if (endedAt !== null && Number(endedAt) <= untilMs) {
      await eraseRecord(id);
      await removeEnded([...keys, endedSet], [id, channel, untilMs]);
    }
    await lease.release();
  };
  /** The documents with the ids of a set, whose keys are `<owner>/<id>`, in the order of the ids,
   * without those that were deleted since the ids were read; `next` is the last id, if there are
   * more. */
  async function listOwned(set: string, owner: string, { after, countMax, bytesMax }: OwnedPage) {
    const from = after === undefined ? '-' : `(${after}`;
    const ids = await listIds([set], [from, '+', 'BYLEX', 'LIMIT', 0, countMax + 1]);
    const texts = await readPage(
      ids.slice(0, countMax).map((id) => [key, `${owner}/${id}`]),
      bytesMax,
    );
    const documents = texts.flatMap((text) => (text === '' ? [] : (liveOf(open(text)) ?? [])));
    return { documents, next: texts.length < ids.length ? ids[texts.length - 1] : undefined };
  }

  return {
    /** Returns `known` itself, without parsing, if that is still the version in the view. */
    read: readOne,
    async find(name: string): Promise<D | undefined> {
      const entry = await findEntry([keysOf(key).index], [name]);
      return entry === null ? undefined : readOne(entry.split(' ')[0] ?? '');
    },
    /** Puts a document in; false if the view has the same or a newer version. */
    async project(document: D): Promise<boolean> {
      const { version } = document;
      const replaced = isReplay(redis) ? version : version - 1;
      const stored = [idOf(document), version, replaced, JSON.stringify(document)];
      return (await project(keys, [...stored, channel, indexed(document), summaryOf(document)])) === 1;
    },
    /**
     * Takes the right to write the next version behind `before` (0: there is none) for `leaseMs`;
     * undefined if another writer has it, or has written it already.
     */
    lease: takeLease,
    listEnded,
    erase,
    /**
     * Erases the documents that may be erased since `untilMs`; how many were looked at.
     *
     * @param forget removes what else there is of a document; false if it must stay
     */
    async eraseEnded(
      untilMs: number,
      countMax: number,
      eraseRecord: EraseRecord,
      forget: (id: string) => Promise<boolean> = async () => true,
    ): Promise<number> {
      const ids = await listEnded(untilMs, countMax);
      for (const id of ids) if (await forget(id)) await erase(id, untilMs, eraseRecord);
      return ids.length;
    },
    /** What `select` returns for each document, in no order. Documents are read in steps, and may
     * change meanwhile. */
    async list<T>(select: (document: D) => T): Promise<T[]> {
      // By id: a step may return a document again.
      const selected = new Map<string, T>();
      for await (const document of eachDocument(scan)) selected.set(idOf(document), select(document));
      return [...selected.values()];
    },
    /** The documents behind a cursor, in no order; see `searchDocuments`. */
    scan,
    /** What `select` returns for each document whose id is in a set. Documents are read in pages. */
    async listSet<T>(set: string, select: (document: D) => T): Promise<T[]> {
      const ids = await listIds([set], [0, -1]);
      const selected: T[] = [];
      for (let at = 0; at < ids.length; ) {
        const texts = await readPage(ids.slice(at, at + PAGE_DOCUMENTS_MAX).map((id) => [key, id]));
        for (const text of texts) if (text !== '') selected.push(select(open(text)));
        at += texts.length;
      }
      return selected;
    },
    listOwned,
    async *pagesOwned(set: string, owner: string): AsyncGenerator<readonly D[]> {
      let after: string | undefined;
      do {
        const page = await listOwned(set, owner, { after, countMax: OWNED_PAGE_MAX });
        yield page.documents;
        after = page.next;
      } while (after !== undefined);
    },
    /** The document of a stored text, for the scripts of one view. */
    open,
  };
}

const OWNED_PAGE_MAX = 50;
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

/**
 * KEYS: the hash of each id. ARGV: most bytes, ids. Returns documents from the first id on until
 * they have the most bytes, at least one; '' for an id without a document.
 */
const READ_PAGE = `${REQUIRE_VIEW}
local found, bytes = {}, 0
for i, key in ipairs(KEYS) do
  local stored = redis.call('HGET', key, ARGV[i + 1]) or ''
  bytes = bytes + #stored
  if i > 1 and bytes > tonumber(ARGV[1]) then break end
  found[i] = stored
end
return found
`;

/** Makes the function that reads the stored texts of the first of some ids of hashes, at least one,
 * together about 1 MiB; '' where there is none. */
export function makeReadPage(redis: Redis) {
  const read = makeScript<string[]>(redis, READ_PAGE);
  return (places: readonly (readonly [hash: string, id: string])[], bytesMax = PAGE_BYTES_MAX) =>
    read(
      places.map(([hash]) => hash),
      [bytesMax, ...places.map(([, id]) => id)],
    );
}
