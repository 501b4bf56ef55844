import { addFigures, checksByKey, summariseDay, undeterminedShareOf } from './summarise-usage.ts';

test('checks are summed by mode and by status, rules and refusals as they are', () => {
  const day = summariseDay({
    'sync.completed.5': 3,
    'sync.failed.9': 1,
    'webhook.completed.5': 2,
    granted: 4,
    denied: 5,
    undetermined: 1,
    refused: 7,
  });
  expect(day).toMatchObject({ sync: 4, poll: 0, webhook: 2, completed: 5, failed: 1 });
  expect(day).toMatchObject({ granted: 4, denied: 5, undetermined: 1, refused: 7 });
  expect(undeterminedShareOf(day)).toBeCloseTo(0.1);
});

test('entries of batches are checks without a latency', () => {
  const day = summariseDay({ 'batch.completed': 500, 'batch.failed': 2, 'sync.completed.0': 1 });
  expect(day).toMatchObject({ batch: 502, completed: 501, failed: 2, sync: 1 });
  expect(day.p95Ms).toBeLessThanOrEqual(1);
});

test('a day without checks has no latency and no undetermined share', () => {
  const day = summariseDay({ refused: 2 });
  expect([day.p50Ms, day.p95Ms, undeterminedShareOf(day)]).toEqual([null, null, 0]);
});

test('percentiles lie within the bucket that holds them', () => {
  // 90 checks of 5 to 7 ms, 10 of 100 to 150 ms.
  const day = summariseDay({ 'sync.completed.4': 90, 'poll.completed.12': 10 });
  expect(day.p50Ms).toBeGreaterThan(5);
  expect(day.p50Ms).toBeLessThanOrEqual(7);
  expect(day.p95Ms).toBeGreaterThan(100);
  expect(day.p95Ms).toBeLessThanOrEqual(150);
});

test('undetermined rules are counted by cause, and checks by key, the most used first', () => {
  const figures = {
    'sync.completed.5': 9,
    undetermined: 5,
    'undetermined.client': 3,
    'undetermined.service': 1,
    'key.key_b': 2,
    'key.key_a': 2,
    'key.other': 5,
  };
  expect(summariseDay(figures)).toMatchObject({
    sync: 9,
    completed: 9,
    undetermined: 5,
    undeterminedClient: 3,
    undeterminedService: 1,
  });
  expect(checksByKey(figures)).toEqual([
    { keyId: 'other', checks: 5 },
    { keyId: 'key_a', checks: 2 },
    { keyId: 'key_b', checks: 2 },
  ]);
});

test('days add up', () => {
  expect(addFigures([{ granted: 1 }, { granted: 2, denied: 1 }, {}])).toEqual({ granted: 3, denied: 1 });
});
