import { FairTaskQueue } from './fair-task-queue.ts';

/** Pieces of work that the test ends one by one, in the order in which they began. */
function setUp(options: { atOnceMax: number; waitingMax: number }) {
  const queue = new FairTaskQueue({ ...options, refusal: 'too much' });
  const begun: string[] = [];
  const refused: string[] = [];
  const open: (() => void)[] = [];
  const ask = (owner: string): void => {
    const work = () => {
      begun.push(owner);
      return new Promise<void>((resolve) => open.push(resolve));
    };
    void queue.run(owner, work).catch(({ code }) => refused.push(`${owner}: ${code}`));
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    begun,
    refused,
    ask: async (owner: string, count = 1) => {
      for (let i = 0; i < count; i += 1) ask(owner);
      await settle();
    },
    end: async (count = 1) => {
      for (let i = 0; i < count; i += 1) {
        open.shift()?.();
        await settle();
      }
    },
  };
}

test('runs at most `atOnceMax` tasks at a time', async () => {
  const { begun, ask, end } = setUp({ atOnceMax: 2, waitingMax: 10 });
  await ask('a', 5);
  expect(begun).toHaveLength(2);
  await end();
  expect(begun).toHaveLength(3);
  await end(4);
  expect(begun).toHaveLength(5);
});

test('serves owners round-robin, so a later owner does not wait for the queues of others', async () => {
  const { begun, ask, end } = setUp({ atOnceMax: 1, waitingMax: 100 });
  await ask('greedy', 50);
  await ask('other', 2);
  await end(4);
  expect(begun).toEqual(['greedy', 'greedy', 'other', 'greedy', 'other']);
});

test('drops the newest task of the longest queue when too many wait', async () => {
  const { begun, refused, ask, end } = setUp({ atOnceMax: 1, waitingMax: 4 });
  await ask('greedy', 20);
  expect(refused).toEqual(Array(15).fill('greedy: overloaded'));
  await ask('other');
  expect(refused).toHaveLength(16);
  await end(2);
  expect(begun).toEqual(['greedy', 'greedy', 'other']);
});

test('refuses the newcomer when no queue is longer than its own', async () => {
  const { refused, ask } = setUp({ atOnceMax: 1, waitingMax: 2 });
  for (const owner of ['running', 'a', 'b', 'c']) await ask(owner);
  expect(refused).toEqual(['c: overloaded']);
});

test('failed work frees its slot', async () => {
  const queue = new FairTaskQueue({ atOnceMax: 1, waitingMax: 0, refusal: 'too much' });
  await expect(queue.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await queue.run('a', async () => 'done')).toBe('done');
});
