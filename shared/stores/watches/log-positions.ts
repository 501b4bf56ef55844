import { inStore, type Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { makeHolds } from '#shared/redis/holds.ts';
import { makeScript, pairsOf, REQUIRE_VIEW, viewCommand } from '#shared/redis/script.ts';

/** A process that dies is replaced after this time. */
const LOG_LEASE_MS = 5_000;

/**
 * How far the transfer logs of a chain were read, and the last blocks, in which a reorg may be
 * found.
 *
 * Written by the one evaluator that holds the chain's lease. A reader without one declares a gap of
 * every contract.
 */
export type LogPosition = {
  readonly since: number;
  /** The last block that need not be read again. */
  readonly settledTo: number;
  readonly readTo: number;
  /** By number: hash and transfers, separated by spaces. */
  readonly blocks: ReadonlyMap<number, string>;
  /** Contracts whose transfers were not read for some blocks, which has not been published yet. */
  readonly gaps: readonly string[];
};

/** The changes of a read; `undefined` in place of a block removes it. */
export type LogPositionChange = Omit<LogPosition, 'blocks'> & {
  readonly blocks: ReadonlyMap<number, string | undefined>;
};

export const logLeaseKey = (chainId: number | string): string => `logs:lease:${chainId}`;
const positionKey = (chainId: number, stream: string): string => `logs:position:${chainId}:${stream}`;
const forksKey = (chainId: number | string): string => `logs:forks:${chainId}`;

/** Reorgs of a chain that are kept: more come only while no chain grows beyond them. */
const FORKS_MAX = 16;

/** A reorg: the first block that it dropped, and when the reader knew that, epoch ms. */
export type LogFork = { readonly from: number; readonly knownAt: number };

/** KEYS: lease, position. ARGV: token, then fields and values ('' removes a field,
 * `now` is Redis's time). */
const SAVE = `${REQUIRE_VIEW}${LUA_NOW}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 2 do
  local value = ARGV[i + 1] == 'now' and string.format('%.0f', now) or ARGV[i + 1]
  if value == '' then redis.call('HDEL', KEYS[2], ARGV[i]) else redis.call('HSET', KEYS[2], ARGV[i], value) end
end
return 1
`;

/** KEYS: lease, forks. ARGV: token, first dropped block. */
const NOTE_FORK = `${REQUIRE_VIEW}${LUA_NOW}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('LPUSH', KEYS[2], string.format('%s/%.0f', ARGV[2], now))
redis.call('LTRIM', KEYS[2], 0, ${FORKS_MAX - 1})
return 1
`;

export function makeLogPositions(redis: Redis) {
  const { take, keep, release } = makeHolds(redis);
  const load = makeScript<string[]>(redis, viewCommand('HGETALL'));
  const save = makeScript<number>(redis, SAVE);
  const noteFork = makeScript<number>(redis, NOTE_FORK);
  /** False, and nothing written, where the lease is lost. */
  const write = async (
    chainId: number,
    stream: string,
    token: string,
    fields: readonly (readonly [string | number, string | number])[],
  ): Promise<boolean> => {
    const keys = [logLeaseKey(chainId), positionKey(chainId, stream)];
    return (await save(keys, [token, ...fields.flat()])) === 1;
  };
  return {
    /** Takes or renews the lease of a chain; `false` while another process holds it. */
    lease: async (chainId: number, token: string): Promise<boolean> =>
      (await keep(logLeaseKey(chainId), token, LOG_LEASE_MS)) ||
      (await take(logLeaseKey(chainId), token, LOG_LEASE_MS)),
    release: (chainId: number, token: string): Promise<void> => release(logLeaseKey(chainId), token),
    async load(chainId: number, stream: string): Promise<LogPosition | undefined> {
      const fields = new Map(pairsOf(await load([positionKey(chainId, stream)], [])));
      const [since, settledTo, readTo] = ['since', 'settledTo', 'readTo'].map((name) => fields.get(name));
      if (since === undefined || settledTo === undefined || readTo === undefined) return undefined;
      const blocks = new Map(
        [...fields].filter(([name]) => /^\d+$/.test(name)).map(([name, text]) => [Number(name), text]),
      );
      const gaps = (fields.get('gaps') ?? '').split(' ').filter((contract) => contract !== '');
      return { since: Number(since), settledTo: Number(settledTo), readTo: Number(readTo), blocks, gaps };
    },
    forget: (chainId: number, stream: string): Promise<void> =>
      inStore(async () => void (await redis.unlink(positionKey(chainId, stream)))),
    /** Notes that the reader is about to ask who is watched among the accounts of blocks up to this
     * one; `false` where the lease is lost. */
    noteReading: (chainId: number, stream: string, token: string, to: number): Promise<boolean> =>
      write(chainId, stream, token, [['reading', to]]),
    /** Notes that the reader has the logs up to the head. */
    noteRead: async (chainId: number, stream: string, token: string): Promise<void> =>
      void (await write(chainId, stream, token, [['readAt', 'now']])),
    /** Notes a reorg; `false` where the lease is lost. */
    noteFork: async (chainId: number, token: string, from: number): Promise<boolean> =>
      (await noteFork([logLeaseKey(chainId), forksKey(chainId)], [token, from])) === 1,
    forks: (chainId: string): Promise<LogFork[]> =>
      inStore(async () =>
        (await redis.lrange(forksKey(chainId), 0, -1)).map((text) => {
          const [from, knownAt] = text.split('/');
          return { from: Number(from), knownAt: Number(knownAt) };
        }),
      ),
    /**
     * How far the reader of a chain's logs is: the highest block of which it has asked, or is asking,
     * who is watched (undefined: it has not begun), and when it last had the logs up to the head, or
     * knew that the chain's logs cannot be followed, epoch ms.
     */
    reach: (chainId: number, stream: string) =>
      inStore(async () => {
        const stored = await redis.hmget(positionKey(chainId, stream), 'readTo', 'reading', 'readAt');
        const [readTo, reading, readAt] = stored.map((text) => (text === null ? undefined : Number(text)));
        const blocks = [readTo, reading].filter((block) => block !== undefined);
        return { reached: blocks.length === 0 ? undefined : Math.max(...blocks), readAt };
      }),
    /** Saves a change, by which the reading has ended; `false`, and nothing saved, where the lease is
     * lost. */
    save: (
      chainId: number,
      stream: string,
      token: string,
      { blocks, gaps, ...position }: LogPositionChange,
    ): Promise<boolean> =>
      write(chainId, stream, token, [
        ...Object.entries({ ...position, reading: '', gaps: gaps.join(' ') }),
        ...[...blocks].map(([number, text]) => [number, text ?? ''] as const),
      ]),
  };
}

export type LogPositions = ReturnType<typeof makeLogPositions>;
