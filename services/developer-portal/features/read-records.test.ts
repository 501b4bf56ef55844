import { readFileSync } from 'node:fs';
import type { LoggedCheck } from '#shared/contracts/checks/check-log.ts';
import { makeReadRecords } from './read-records.ts';

const VALUE = readFileSync('test/contract/golden/check.requested.bulk.v1.json');
const { requestId, clientId } = JSON.parse(VALUE.toString()) as { requestId: string; clientId: string };
const logged = { requestId, mode: 'poll', request: { partition: 3, offset: 17 } } as LoggedCheck;
type Read = Parameters<typeof makeReadRecords>[0]['readRecord'];
/** Reads requests by a broker that answers so. */
const makeReadSentCheck = (kafka: { readonly readRecord: Read }) => makeReadRecords(kafka).readSentCheck;
const found = { value: VALUE } as Awaited<ReturnType<Read>>;

test('a request is read at its position in the topic of its lane, with bounds', async () => {
  const asked: Parameters<Read>[0][] = [];
  const readSentCheck = makeReadSentCheck({
    readRecord: async (options) => {
      asked.push(options);
      return found;
    },
  });
  expect(await readSentCheck(clientId, logged)).toMatchObject({ requestId, clientId });
  await readSentCheck(clientId, { ...logged, mode: 'sync' });
  expect(asked).toMatchObject([
    {
      topic: 'check.requested.bulk.v1',
      place: { partition: 3, offset: 17 },
      bytesMax: 2 * 1024 * 1024,
      timeoutMs: 10_000,
    },
    { topic: 'check.requested.interactive.v1' },
  ]);
});

test('returns undefined for a deleted request and the record of another check', async () => {
  const gone = makeReadSentCheck({ readRecord: async () => undefined });
  expect(await gone(clientId, logged)).toBeUndefined();
  const there = makeReadSentCheck({ readRecord: async () => found });
  expect(await there('app_of_another', logged)).toBeUndefined();
  expect(await there(clientId, { ...logged, requestId: 'another' })).toBeUndefined();
});

test('at most two requests are read at a time', async () => {
  let [reading, mostReading] = [0, 0];
  const readSentCheck = makeReadSentCheck({
    readRecord: async () => {
      mostReading = Math.max(mostReading, ++reading);
      await new Promise(setImmediate);
      reading--;
      return found;
    },
  });
  await Promise.all(Array.from({ length: 12 }, () => readSentCheck(clientId, logged)));
  expect(mostReading).toBe(2);
});
