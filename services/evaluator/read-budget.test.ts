import { ReadBudget } from './read-budget.ts';

/** A record of a consumer; `leave` is called when the process stops. */
function aRecord() {
  const record: { leave: () => void; aliveCount: number } = { leave: () => undefined, aliveCount: 0 };
  return Object.assign(record, {
    park: (leave: () => void) => {
      record.leave = leave;
    },
    alive: () => {
      record.aliveCount += 1;
    },
  });
}

/** Whether a promise is fulfilled by now. */
const isDone = (work: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    work.then(() => true),
    new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
  ]);

test('an app alone may hold half of the reads; its further checks wait in their order, and those of others do not', async () => {
  const budget = new ReadBudget(1_000);
  const release = await budget.acquire('app_1', 400, aRecord());
  const [second, third] = [budget.acquire('app_1', 400, aRecord()), budget.acquire('app_1', 10, aRecord())];
  expect([await isDone(second), await isDone(third)]).toEqual([false, false]);
  const releaseOther = await budget.acquire('app_2', 200, aRecord());
  releaseOther();
  release();
  expect([await isDone(second), await isDone(third)]).toEqual([true, true]);
  (await second)();
  (await third)();
  expect(await isDone(budget.acquire('app_3', 500, aRecord()))).toBe(true);
});

test('a waiting check reports that it is alive while reads are given back', async () => {
  const budget = new ReadBudget(1_000);
  const [large, small] = [
    await budget.acquire('app_1', 300, aRecord()),
    await budget.acquire('app_1', 100, aRecord()),
  ];
  const record = aRecord();
  const waiting = budget.acquire('app_1', 500, record);
  small();
  expect([record.aliveCount, await isDone(waiting)]).toEqual([1, false]);
  large();
  expect(await isDone(waiting)).toBe(true);
});

test('a waiting check is left to the next owner when the process stops, and the others are not held up by it', async () => {
  const budget = new ReadBudget(1_000);
  const release = await budget.acquire('app_1', 400, aRecord());
  const record = aRecord();
  const left = budget.acquire('app_1', 400, record);
  record.leave();
  await expect(left).rejects.toMatchObject({ code: 'overloaded' });
  release();
  // Without effect once the wait is over.
  record.leave();
  expect(await isDone(budget.acquire('app_1', 400, aRecord()))).toBe(true);
});
