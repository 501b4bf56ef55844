import { IsolatedReadSlots } from './reads-apart.ts';

function makeSlots(poolSize = 1) {
  const clock = { ms: 0 };
  const slots = new IsolatedReadSlots(
    () => poolSize,
    () => clock.ms,
  );
  return {
    clock,
    take: (count: number, client = 'app_1') => Array.from({ length: count }, () => slots.take(client)),
  };
}

test('lets 4 reads of a client go out now and 4 a second later, and refuses more', () => {
  const { take } = makeSlots();
  expect(take(10)).toEqual([0, 0, 0, 0, 1_000, 1_000, 1_000, 1_000, undefined, undefined]);
});

test('never starts more than 4 reads of a client in any second', () => {
  const { clock, take } = makeSlots();
  const starts: number[] = [];
  for (clock.ms = 0; clock.ms < 10_000; clock.ms += 50)
    for (const waitMs of take(1)) if (waitMs !== undefined) starts.push(clock.ms + waitMs);
  for (const [index, start] of starts.entries())
    expect(start - (starts[index - 4] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(1_000);
  expect(starts.length).toBeGreaterThanOrEqual(40);
});

test('bounds each client apart', () => {
  const { take } = makeSlots();
  take(20);
  expect(take(1, 'app_2')).toEqual([0]);
});

test('divides the bound among the evaluators', () => {
  const { take } = makeSlots(3);
  expect(take(9)).toEqual([0, 0, 0, 0, 3_000, 3_000, 3_000, 3_000, undefined]);
});

test('lets a call wait for as many seconds as it may, and never starts more than 4 in any second', () => {
  const slots = new IsolatedReadSlots(
    () => 1,
    () => 0,
  );
  const starts = Array.from({ length: 14 }, () => slots.take('app_1', 2));
  expect(starts).toEqual([...[0, 1_000, 2_000].flatMap((ms) => Array(4).fill(ms)), undefined, undefined]);
  expect(slots.take('app_1', 0)).toBeUndefined();
});
