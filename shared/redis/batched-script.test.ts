import { makeBatchedScript } from './batched-script.ts';
import type { Redis } from './connect.ts';

const MIB = 1024 * 1024;

/** A Redis that notes how many calls each command carries. */
function makeCountingRedis() {
  const callCounts: number[] = [];
  const redis = {
    evalsha: async (_hash: string, keyCount: number) => {
      callCounts.push(keyCount);
      return Array.from({ length: keyCount }, () => 'saved');
    },
  };
  return { redis: redis as unknown as Redis, callCounts };
}

test('a command carries many small calls, and few large ones', async () => {
  const { redis, callCounts } = makeCountingRedis();
  const save = makeBatchedScript<string>(redis, `return 'saved'`);
  const saveAll = (count: number, bytes: number) =>
    Promise.all(Array.from({ length: count }, () => save(['key'], [1, 'x'.repeat(bytes)])));
  await saveAll(128, 1_000);
  await saveAll(4, MIB);
  expect(await saveAll(1, 4 * MIB)).toEqual(['saved']);
  expect(callCounts).toEqual([128, 2, 2, 1]);
});
