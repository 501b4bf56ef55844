import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeAdmitter } from '#shared/stores/checks/admit.ts';
import { makeUsageFigures } from '#shared/stores/usage/usage.ts';
import { hourOf } from '#shared/stores/usage/usage-days.ts';
import { connectTestRedis, testConfig } from '../../support/infrastructure/connections.ts';

// Scenario: many client apps send bursts at random, and the result-store reads their totals, on
// Redis's own clock. A log without requests expires after 7 s, so the pauses are chosen around
// that, and around the window.

const LIMIT = 5;
const SCHEDULES = 1_000;
const PAUSED_MS_MAX = 10_500;

type Step = {
  readonly work: 'admit' | 'read';
  readonly count: number;
  /** Of each request. */
  readonly places: number;
  readonly pauseMs: number;
};

const step: fc.Arbitrary<Step> = fc.record({
  work: fc.constantFrom('admit', 'read'),
  count: fc.integer({ min: 1, max: 2 * LIMIT }),
  places: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: LIMIT + 1 })),
  pauseMs: fc.oneof(
    fc.integer({ min: 0, max: 30 }),
    fc.integer({ min: 970, max: 1_030 }),
    fc.integer({ min: 3_480, max: 3_800 }),
    fc.integer({ min: 6_850, max: 7_050 }),
  ),
});
const schedule = fc
  .array(step, { minLength: 3, maxLength: 6 })
  .filter((steps) => steps.reduce((ms, { pauseMs }) => ms + pauseMs, 0) <= PAUSED_MS_MAX);

let connection: RedisConnection;

beforeAll(async () => {
  connection = await connectTestRedis(testConfig(6));
  await connection.redis.set(GENERATION_KEY, 'test');
});

afterAll(() => connection?.[Symbol.asyncDispose]());

test('a window of one second holds exactly the limit, whatever is read, whatever expires between requests and whatever each counts for', async () => {
  const { admit } = makeAdmitter(connection.redis, Date.now);
  const figures = makeUsageFigures(connection.redis);
  const limits = { requestsPerSecond: LIMIT, requestsPerMonth: 1_000_000 };

  /** The first answer that differs from the model, with the schedule that led to it. */
  const findFault = async (steps: readonly Step[]): Promise<object | undefined> => {
    const clientId = `app_${randomUUID()}`;
    const accepted: number[] = [];
    for (const { work, count, places, pauseMs } of steps) {
      if (work === 'read') await figures.read({ clientId, hour: hourOf(Date.now()) });
      for (let i = 0; work === 'admit' && i < count; i++) {
        const check = { seed: '1.00' };
        const { outcome, nowMs, second } = await admit({
          clientId,
          accountId: 'acc_1',
          limits,
          bucket: 'per-second',
          places,
          check,
        });
        const inWindow = accepted.filter((atMs) => atMs >= nowMs - 1_000);
        const isFresh = inWindow.length + places <= LIMIT;
        const taken = Array.from({ length: isFresh ? places : 0 }, () => nowMs);
        inWindow.push(...taken);
        const expected = {
          outcome: isFresh ? 'fresh' : 'rate-limited',
          remaining: LIMIT - inWindow.length,
          // An empty window refuses only what never fits.
          resetMs: inWindow[0] === undefined ? 1_000 : inWindow[0] + 1_001 - nowMs,
        };
        const answered = { outcome, remaining: second.remaining, resetMs: second.resetMs };
        if (!isDeepStrictEqual(answered, expected)) return { answered, expected, steps };
        accepted.push(...taken);
      }
      await delay(pauseMs);
    }
    return undefined;
  };

  // Side by side, because each takes seconds of the real clock.
  const schedules = fc.sample(schedule, SCHEDULES);
  const faults = await Promise.all(schedules.map(findFault));
  expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
});
