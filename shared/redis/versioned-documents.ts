import { inStore, type Redis } from './connect.ts';
import { makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, REQUIRE_VIEW, type ViewAccess } from './view.ts';

/**
 * KEYS: marker, documents, index. ARGV: access, id, version, document, channel ('' for none), what the index leads
 * to this id from. The version stands in front of a stored document, so that no script need parse it.
 */
const PROJECT = `${REQUIRE_VIEW}
local stored = redis.call('HGET', KEYS[2], ARGV[2])
if stored and tonumber(string.match(stored, '^(%d+) ')) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3] .. ' ' .. ARGV[4])
for i = 6, #ARGV do redis.call('HSET', KEYS[3], ARGV[i], ARGV[2]) end
if ARGV[5] ~= '' then redis.call('PUBLISH', ARGV[5], ARGV[2]) end
return 1
`;

/** KEYS: marker, documents. ARGV: access, id. */
const READ = `${REQUIRE_VIEW}
return redis.call('HGET', KEYS[2], ARGV[2]) or false
`;

/** KEYS: marker, documents, index. ARGV: access, index entry. */
const FIND = `${REQUIRE_VIEW}
local id = redis.call('HGET', KEYS[3], ARGV[2])
if not id then return false end
return redis.call('HGET', KEYS[2], id) or false
`;

type Options<D> = {
  /** Redis key of the documents; the index stands beside it. */
  readonly key: string;
  readonly parse: (json: unknown) => D;
  readonly idOf: (document: D) => string;
  /** What a document is found by beside its id. */
  readonly indexOf: (document: D) => readonly string[];
  /** Told the id of every document that changed. */
  readonly channel?: string;
};

/** A view of a compacted topic: whole documents of which a newer version replaces an older one, whatever comes first. */
export type VersionedDocuments<D> = {
  readonly read: (id: string) => Promise<D | undefined>;
  readonly find: (indexEntry: string) => Promise<D | undefined>;
  /** Puts a document in; false where the view has the same or a newer version. */
  readonly project: (document: D, access?: ViewAccess) => Promise<boolean>;
  readonly list: () => Promise<D[]>;
};

export function makeVersionedDocuments<D extends { readonly version: number }>(
  redis: Redis,
  { key, parse, idOf, indexOf, channel = '' }: Options<D>,
): VersionedDocuments<D> {
  const project = makeScript<number>(redis, 'projectDocument', PROJECT);
  const read = makeScript<string | null>(redis, 'readDocument', READ);
  const find = makeScript<string | null>(redis, 'findDocument', FIND);
  const keys = [GENERATION_KEY, key, `${key}:index`];
  const open = (stored: string | null): D | undefined =>
    stored === null ? undefined : parse(JSON.parse(stored.slice(stored.indexOf(' ') + 1)));
  return {
    read: async (id) => open(await read(keys, [EVERYDAY, id])),
    find: async (indexEntry) => open(await find(keys, [EVERYDAY, indexEntry])),
    async project(document, access = EVERYDAY) {
      const stored = [idOf(document), document.version, JSON.stringify(document)];
      return (await project(keys, [access, ...stored, channel, ...indexOf(document)])) === 1;
    },
    list: async () => (await inStore(() => redis.hvals(key))).flatMap((stored) => open(stored) ?? []),
  };
}
