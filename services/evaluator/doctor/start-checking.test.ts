import type { EndpointReport } from '#shared/contracts/chain-report.ts';
import { startCheckingEndpoints } from './start-checking.ts';

const MINUTE_MS = 60_000;
const report: EndpointReport = {
  chainId: 1,
  endpoint: 0,
  reachable: true,
  chainIdMatches: true,
  headAgeMs: 0,
  tags: ['latest'],
  archive: true,
  logRange: 1,
  batchLimit: 1,
  method: 'reader',
  proved: true,
  state: true,
  problems: [],
};

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function startAt(saves: (() => Promise<void>)[]) {
  const stored: EndpointReport[] = [];
  const check = jest.fn(async () => [report]);
  const log = { info: jest.fn(), warn: jest.fn() };
  const reports = {
    read: async () => stored.map((endpoint) => ({ chainId: 1, at: '', endpoints: [endpoint] })),
    async save(found: readonly EndpointReport[]) {
      await saves.shift()?.();
      stored.push(...found);
    },
  };
  const stopping = new AbortController().signal;
  const repetition = startCheckingEndpoints({ chains: { check }, reports, log: log as never, stopping });
  return { check, stored, repetition };
}

test('checks the endpoints at the start and once an hour', async () => {
  const { check, repetition } = startAt([]);
  await jest.advanceTimersByTimeAsync(59 * MINUTE_MS);
  expect(check).toHaveBeenCalledTimes(1);
  await jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(check).toHaveBeenCalledTimes(2);
  repetition.stop();
});

test('checks them again a minute after a report could not be saved, and after Redis has lost it', async () => {
  const { check, stored, repetition } = startAt([() => Promise.reject(new Error('Redis is away'))]);
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  expect([check.mock.calls.length, stored.length]).toEqual([2, 1]);
  stored.length = 0;
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  expect([check.mock.calls.length, stored.length]).toEqual([3, 1]);
  repetition.stop();
});
