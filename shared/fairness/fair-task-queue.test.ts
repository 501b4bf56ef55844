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

describe('with a bound for each app', () => {
  const ownerOf = (clientId: string, accountId = clientId) => ({ accountId, clientId });

  /** Tasks that end when they are told to. */
  function start(ofAppMax = 4) {
    const queue = new FairTaskQueue({
      atOnceMax: 16,
      ofAppMax: () => ofAppMax,
      waitingMax: 100,
      refusal: '',
    });
    const running: { readonly name: string; readonly end: () => void }[] = [];
    const ask = (of: ReturnType<typeof ownerOf>, signal?: AbortSignal) =>
      queue.run(of, () => new Promise<void>((end) => running.push({ name: of.clientId, end })), signal);
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    return { ask, running, settle };
  }

  test('runs so many tasks of an app, and the next one when one has ended', async () => {
    const { ask, running, settle } = start();
    const asked = Array.from({ length: 6 }, () => ask(ownerOf('app')));
    await settle();
    expect(running).toHaveLength(4);
    running[0]?.end();
    await asked[0];
    await settle();
    expect(running).toHaveLength(5);
  });

  test('an account with many apps leaves places to others', async () => {
    const { ask, running, settle } = start();
    for (let i = 0; i < 100; i++) void ask(ownerOf(`app_${i}`, 'account'));
    await settle();
    const ofAccount = running.length;
    expect(ofAccount).toBeLessThan(16);
    void ask(ownerOf('other'));
    await settle();
    expect(running.slice(ofAccount).map(({ name }) => name)).toEqual(['other']);
  });

  test('a task whose signal is aborted waits no longer, and does not run', async () => {
    const { ask, running, settle } = start(1);
    void ask(ownerOf('app'));
    const ended = new AbortController();
    const waiting = ask(ownerOf('app'), ended.signal);
    ended.abort(new Error('ended'));
    await expect(waiting).rejects.toThrow('ended');
    await expect(ask(ownerOf('app'), ended.signal)).rejects.toThrow('ended');
    running[0]?.end();
    await settle();
    expect(running).toHaveLength(1);
  });
});

test('failed work frees its slot', async () => {
  const queue = new FairTaskQueue({ atOnceMax: 1, waitingMax: 0, refusal: 'too much' });
  await expect(queue.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await queue.run('a', async () => 'done')).toBe('done');
});

test('a place that rests is taken as long again as its task took, half a second at most', async () => {
  jest.useFakeTimers();
  const queue = new FairTaskQueue({ atOnceMax: 1, rests: true, waitingMax: 10, refusal: 'too much' });
  const begunAt: number[] = [];
  const task = (ms: number) => async () => {
    begunAt.push(performance.now());
    await new Promise((resolve) => setTimeout(resolve, ms));
  };
  const from = performance.now();
  const all = [queue.run('a', task(30)), queue.run('b', task(10)), queue.run('c', task(5_000))];
  all.push(queue.run('d', task(1)));
  await jest.advanceTimersByTimeAsync(10_000);
  await Promise.all(all);
  expect(begunAt.map((at) => at - from)).toEqual([0, 60, 80, 5_580]);
  jest.useRealTimers();
});
