import { inStore, type Redis } from './connect.ts';
import { makeScript } from './script.ts';

const KEEP = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`;

const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`;

/** Keys that one holder at a time has, until it releases them or they end by themselves. */
export function makeHolds(redis: Redis) {
  const keep = makeScript<number>(redis, KEEP);
  const release = makeScript<number>(redis, RELEASE);
  return {
    /** False while there is a holder, also if it is this one. */
    take: (key: string, holder: string, forMs: number): Promise<boolean> =>
      inStore(async () => (await redis.set(key, holder, 'PX', forMs, 'NX')) === 'OK'),
    /** Holds a key for longer; false if the holder has lost it. */
    keep: async (key: string, holder: string, forMs: number): Promise<boolean> =>
      (await keep([key], [holder, forMs])) === 1,
    /** Nothing happens if another one holds it. */
    release: async (key: string, holder: string): Promise<void> => void (await release([key], [holder])),
  };
}
