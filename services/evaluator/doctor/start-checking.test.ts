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

test('saves a report a minute later that could not be saved, without another check', async () => {
  const { check, stored, repetition } = startAt([() => Promise.reject(new Error('Redis is full'))]);
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  expect([check.mock.calls.length, stored.length]).toEqual([1, 1]);
  repetition.stop();
});

test('checks them again a minute after a check failed, and after Redis has lost the report', async () => {
  const { check, stored, repetition } = startAt([]);
  expect(check).toHaveBeenCalledTimes(1);
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  stored.length = 0;
  check.mockRejectedValueOnce(new Error('a bug'));
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  expect([check.mock.calls.length, stored.length]).toEqual([2, 0]);
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  expect([check.mock.calls.length, stored.length]).toEqual([3, 1]);
  repetition.stop();
});
