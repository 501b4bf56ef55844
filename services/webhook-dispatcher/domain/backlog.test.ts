import { makeBacklog } from './backlog.ts';

/** How many of `count` messages wait in each tier. */
function deferMany(backlog: ReturnType<typeof makeBacklog>, count: number, nowMs: number, msEach: number) {
  const counts = { '5s': 0, '5m': 0, '30m': 0 } as Record<string, number>;
  for (let i = 0; i < count; i += 1) {
    const tier = backlog.defer(nowMs, msEach);
    counts[tier] = (counts[tier] ?? 0) + 1;
  }
  return counts;
}

test('a tier holds what the receiver takes until the next tier comes back', () => {
  const counts = deferMany(makeBacklog(1), 20_000, 0, 125);
  expect(counts).toEqual({ '5s': 2_400, '5m': 14_400, '30m': 3_200 });
});

test('a tier that came back has room again, and the longer one has not yet', () => {
  const backlog = makeBacklog(1);
  deferMany(backlog, 20_000, 0, 125);
  expect(deferMany(backlog, 3_000, 4_999, 125)).toEqual({ '5s': 0, '5m': 0, '30m': 3_000 });
  expect(deferMany(backlog, 3_000, 5_000, 125)).toEqual({ '5s': 2_400, '5m': 0, '30m': 600 });
  expect(deferMany(backlog, 3_000, 300_000, 125)).toEqual({ '5s': 2_400, '5m': 600, '30m': 0 });
});

test('a fast receiver brings back at most 800 messages a second, before those of others', () => {
  const counts = deferMany(makeBacklog(1), 300_000, 0, 1);
  expect(counts).toEqual({ '5s': 4_000, '5m': 240_000, '30m': 56_000 });
});

test('one message waits in the 5 s tier, however slow its receiver', () => {
  expect(makeBacklog(1).defer(0, 60_000)).toBe('5s');
  expect(makeBacklog(0.001).defer(0, 60_000)).toBe('5s');
});
