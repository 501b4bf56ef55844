import { COMMAND_TIMEOUT_MS, type Redis } from './connect.ts';
import { makeScript } from './script.ts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A Redis whose scripts return `answer`. */
function fakeRedis(answer: () => Promise<number>): Redis {
  const redis: Record<string, unknown> = {
    defineCommand: (name: string) => {
      redis[name] = answer;
    },
  };
  return redis as unknown as Redis;
}

it('fails a call that is still waiting to be sent when its time is up', async () => {
  const script = makeScript<number>(
    fakeRedis(() => new Promise(() => undefined)),
    'increment',
    '',
  );
  const call = expect(script(['counter'], [1])).rejects.toMatchObject({ code: 'store-unavailable' });
  await jest.advanceTimersByTimeAsync(COMMAND_TIMEOUT_MS);
  await call;
});

it('leaves no timer behind an answer', async () => {
  const script = makeScript<number>(
    fakeRedis(async () => 2),
    'increment',
    '',
  );
  expect(await script(['counter'], [1])).toBe(2);
  expect(jest.getTimerCount()).toBe(0);
});
