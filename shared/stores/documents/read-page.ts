import type { Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import {
  GENERATION_KEY,
  ORDINARY_ACCESS,
  PAGE_BYTES_MAX,
  REQUIRE_VIEW,
  type ViewAccess,
} from '#shared/redis/view.ts';

/**
 * KEYS: marker, hashes. ARGV: access, most bytes, then for each id the index of its hash among the keys, and the id. Returns
 * documents from the first id on until they have the most bytes, at least one; '' for an id without a document.
 */
const READ_PAGE = `${REQUIRE_VIEW}
local found, bytes = {}, 0
for i = 3, #ARGV, 2 do
  local stored = redis.call('HGET', KEYS[tonumber(ARGV[i])], ARGV[i + 1]) or ''
  bytes = bytes + #stored
  if #found > 0 and bytes > tonumber(ARGV[2]) then break end
  found[#found + 1] = stored
end
return found
`;

/** The stored texts of the first of these ids, at least one, together about 1 MiB; '' where there is none. */
export type ReadPage = (
  hashes: readonly string[],
  ids: readonly string[],
  /** The index of the hash of each id, from 1 on; by default all are in the first one. */
  places?: readonly number[],
  access?: ViewAccess,
) => Promise<string[]>;

export function makeReadPage(redis: Redis): ReadPage {
  const read = makeScript<string[]>(redis, READ_PAGE);
  return (hashes, ids, places, access = ORDINARY_ACCESS) => {
    // The marker is the first key.
    const args = ids.flatMap((id, i) => [(places?.[i] ?? 1) + 1, id]);
    return read([GENERATION_KEY, ...hashes], [access, PAGE_BYTES_MAX, ...args]);
  };
}
