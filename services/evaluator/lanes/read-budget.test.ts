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

/** Holds reads of an app; fulfilled once it has them, with the function that gives them back. */
const hold = (budget: ReadBudget, clientId: string, count: number, record = aRecord()) =>
  new Promise<() => void>((start, reject) => {
    budget
      .run(
        { owner: { accountId: `acc_of_${clientId}`, clientId }, count, record },
        () => new Promise<void>((release) => start(release)),
      )
      .catch(reject);
  });

/** Whether a promise is fulfilled by now. */
const isDone = (work: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    work.then(() => true),
    new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
  ]);

test('an app alone may hold a quarter of the reads; its further checks wait in their order, and those of others do not', async () => {
  const budget = new ReadBudget({ max: 1_000, ofCheckMax: 200 });
  const release = await hold(budget, 'app_1', 240, aRecord());
  const [second, third] = [hold(budget, 'app_1', 240, aRecord()), hold(budget, 'app_1', 10, aRecord())];
  expect([await isDone(second), await isDone(third)]).toEqual([false, false]);
  const releaseOther = await hold(budget, 'app_2', 200, aRecord());
  releaseOther();
  release();
  expect([await isDone(second), await isDone(third)]).toEqual([true, true]);
  (await second)();
  (await third)();
  expect(await isDone(hold(budget, 'app_3', 250, aRecord()))).toBe(true);
});

test('a waiting check reports that it is alive while reads are returned', async () => {
  const budget = new ReadBudget({ max: 1_000, ofCheckMax: 200 });
  const [large, small] = [
    await hold(budget, 'app_1', 150, aRecord()),
    await hold(budget, 'app_1', 100, aRecord()),
  ];
  const record = aRecord();
  const waiting = hold(budget, 'app_1', 250, record);
  small();
  expect([await isDone(waiting), record.aliveCount]).toEqual([false, 1]);
  large();
  expect(await isDone(waiting)).toBe(true);
});

test('a waiting check is left to the next owner when the process stops, and the others are not held up by it', async () => {
  const budget = new ReadBudget({ max: 1_000, ofCheckMax: 200 });
  const release = await hold(budget, 'app_1', 240, aRecord());
  const record = aRecord();
  const left = hold(budget, 'app_1', 240, record);
  record.leave();
  await expect(left).rejects.toMatchObject({ code: 'overloaded' });
  release();
  // Without effect once the wait is over.
  record.leave();
  expect(await isDone(hold(budget, 'app_1', 240, aRecord()))).toBe(true);
});

test('an app that uses its own share delays no other app, however long its checks wait', async () => {
  let nowMs = 0;
  const budget = new ReadBudget({ max: 1_000, ofCheckMax: 200 }, () => nowMs);
  await hold(budget, 'app_1', 240);
  void hold(budget, 'app_1', 240);
  nowMs = 60_000;
  expect(await isDone(hold(budget, 'app_2', 200))).toBe(true);
});

test('a large check that has waited for long goes before later checks of all apps, however small', async () => {
  let nowMs = 0;
  const budget = new ReadBudget({ max: 1_000, ofCheckMax: 200 }, () => nowMs);
  const busy = await Promise.all(
    ['app_1', 'app_2', 'app_3', 'app_4', 'app_6'].map((clientId) => hold(budget, clientId, 190)),
  );
  const large = hold(budget, 'app_large', 200);
  nowMs = 5_001;
  const small = hold(budget, 'app_5', 1);
  expect([await isDone(large), await isDone(small)]).toEqual([false, false]);
  busy[0]?.();
  expect([await isDone(large), await isDone(small)]).toEqual([true, true]);
});

test('waiting checks report that they are alive once a second at most, however often reads are returned', async () => {
  let nowMs = 0;
  const budget = new ReadBudget({ max: 1_000, ofCheckMax: 200 }, () => nowMs);
  const [, ...small] = await Promise.all([150, 30, 30, 30].map((count) => hold(budget, 'app_1', count)));
  const record = aRecord();
  void hold(budget, 'app_1', 250, record);
  for (const [index, release] of small.entries()) {
    nowMs = 600 * index;
    release();
    await isDone(Promise.resolve());
  }
  expect(record.aliveCount).toBe(2);
});
