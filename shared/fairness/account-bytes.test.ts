import type { Redis } from '#shared/redis/connect.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { startCountingBytes } from './account-bytes.ts';

test('bytes that could not be added are added later, once', async () => {
  let [tries, sum] = [0, 0];
  const redis = {
    options: {},
    async evalsha(_hash: string, _keyCount: number, ...[, , , bytes]: (string | number)[]) {
      tries += 1;
      if (tries === 1) throw new Error('away');
      sum += Number(bytes);
      return ['0 0 1000'];
    },
  };
  await using counter = startCountingBytes(redis as unknown as Redis, makeSilentLogger());
  counter.add('app', 1);
  counter.add('app', 2);
  await waitUntil('the bytes', () => sum > 0);
  counter.add('app', 4);
  await waitUntil('the next bytes', () => sum > 3);
  expect({ tries, sum }).toEqual({ tries: 3, sum: 7 });
});

test('nothing is tried again after the end', async () => {
  jest.useFakeTimers();
  const answers: (() => void)[] = [];
  const redis = {
    options: {},
    evalsha: () => new Promise((_, reject) => answers.push(() => reject(new Error('away')))),
  };
  const counter = startCountingBytes(redis as unknown as Redis, makeSilentLogger());
  counter.add('app', 1);
  await jest.advanceTimersByTimeAsync(100);
  await counter[Symbol.asyncDispose]();
  answers[0]?.();
  await jest.advanceTimersByTimeAsync(10_000);
  expect(answers).toHaveLength(1);
  jest.useRealTimers();
});
