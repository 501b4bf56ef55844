import { inStore, type Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { makeScript } from '#shared/redis/script.ts';

/** Whether a chain can be read: `unknown` while no evaluator has been asked for it lately. */
export type ChainState =
  | { readonly state: 'ok' | 'down'; readonly since: string }
  | { readonly state: 'unknown' };

/** A chain is `down` when no evaluator has read it for this long, and `unknown` when none has
 * reported for this long. */
export const LATELY_MS = 10_000;

const UNKNOWN: ChainState = { state: 'unknown' };
const keyOf = (chainId: number): string => `chain-state:${chainId}`;

/**
 * KEYS: the chains. ARGV: how long a report counts, in ms, then for each chain 1 if it can be read,
 * else 0. An entry is `state since read-at`: one evaluator that reads the chain outweighs all that
 * cannot.
 */
const REPORT = `${LUA_NOW}
for i, key in ipairs(KEYS) do
  local before, since, readAt = string.match(redis.call('GET', key) or '', '^(%a+) (%d+) (%d+)$')
  if ARGV[i + 1] == '1' then readAt = now end
  local state = now - (tonumber(readAt) or 0) < tonumber(ARGV[1]) and 'ok' or 'down'
  if state ~= before then since = now end
  redis.call('SET', key, string.format('%s %.0f %.0f', state, since, readAt or 0), 'PX', ARGV[1])
end
return 1
`;

/**
 * Whether chains can be read: written by evaluators, read by gateways. A hint, so nothing restores
 * it: without it every chain is `unknown` until the next report.
 *
 * @example
 * await makeChainStates(redis).report(new Map([[1, true]]));
 * (await makeChainStates(redis).read([1])).get(1); // { state: 'ok', since: '2026-11-21T10:00:00.000Z' }
 */
export function makeChainStates(redis: Redis, latelyMs = LATELY_MS) {
  const send = makeScript<number>(redis, REPORT);
  return {
    /** Says of each chain whether this process can read it now. */
    async report(readable: ReadonlyMap<number, boolean>): Promise<void> {
      if (readable.size > 0)
        await send([...readable.keys()].map(keyOf), [latelyMs, ...[...readable.values()].map(Number)]);
    },
    read: (chainIds: readonly number[]): Promise<ReadonlyMap<number, ChainState>> =>
      inStore(async () => {
        const texts = chainIds.length === 0 ? [] : await redis.mget(chainIds.map(keyOf));
        return new Map(chainIds.map((chainId, index) => [chainId, stateOf(texts[index])]));
      }),
  };
}

export type ChainStates = ReturnType<typeof makeChainStates>;

function stateOf(text: string | null | undefined): ChainState {
  const [state, since] = text?.split(' ') ?? [];
  if (state !== 'ok' && state !== 'down') return UNKNOWN;
  return { state, since: new Date(Number(since)).toISOString() };
}
