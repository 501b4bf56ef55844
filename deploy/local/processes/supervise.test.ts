import type { Exit } from './child.ts';
import { type Running, type SuperviseDependencies, supervise } from './supervise.ts';

/** A part whose processes exist in memory only: the test decides when each ends. */
function fakePart(failures: readonly Error[] = []) {
  const ends: (() => void)[] = [];
  const stopped: number[] = [];
  const left = [...failures];
  return {
    ends,
    stopped,
    part: {
      name: 'part',
      kind: 'service' as const,
      async start({ onSpawn }: { onSpawn: (pid: number) => void }): Promise<Running> {
        const failure = left.shift();
        if (failure) throw failure;
        const pid = ends.length + 1;
        const { promise: exited, resolve } = Promise.withResolvers<Exit>();
        const end = (): void => resolve({ code: 1, signal: null });
        ends.push(end);
        onSpawn(pid);
        return {
          pid,
          exited,
          async stop() {
            stopped.push(pid);
            end();
          },
        };
      },
    },
  };
}

function fakeDependencies() {
  const said: string[] = [];
  const pids = new Set<number>();
  const pauses: number[] = [];
  const stop = new AbortController();
  const dependencies: SuperviseDependencies = {
    signal: stop.signal,
    say: (line) => said.push(line),
    cameUp: (pid) => pids.add(pid),
    wentDown: (pid) => pids.delete(pid),
    pause: async (ms) => void pauses.push(ms),
  };
  return { dependencies, said, pids, pauses, stop };
}

/** Lets everything that is only waiting for resolved promises go on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a part that dies is started again, and its new process id is known', async () => {
  const { part, ends } = fakePart();
  const { dependencies, said, pids } = fakeDependencies();
  const supervised = await supervise(part, dependencies);
  ends[0]?.();
  await settle();
  expect([...pids]).toEqual([2]);
  expect(said[0]).toBe('part ended (exit code 1); restarting in 0.5 s');
  expect(supervised.exitCount()).toBe(1);
  await supervised.stop();
});

afterEach(() => void jest.restoreAllMocks());

test('the pause before a restart doubles up to ten seconds', async () => {
  jest.spyOn(performance, 'now').mockReturnValue(0);
  const { part, ends } = fakePart();
  const { dependencies, pauses } = fakeDependencies();
  const supervised = await supervise(part, dependencies);
  for (let i = 0; i < 7; i++) {
    ends[i]?.();
    await settle();
  }
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  await supervised.stop();
});

test('an error of the first start is thrown to the caller, and nothing is restarted', async () => {
  const { part } = fakePart([new Error('port in use')]);
  const { dependencies, pids } = fakeDependencies();
  await expect(supervise(part, dependencies)).rejects.toThrow('port in use');
  expect(pids.size).toBe(0);
});

test('a restart that fails is tried again', async () => {
  const failures: Error[] = [];
  const { part, ends } = fakePart();
  const flaky = {
    ...part,
    start: async (hooks: { onSpawn: (pid: number) => void }) => {
      const failure = failures.shift();
      if (failure) throw failure;
      return part.start(hooks);
    },
  };
  const { dependencies, said, pauses } = fakeDependencies();
  const supervised = await supervise(flaky, dependencies);
  failures.push(new Error('no luck'));
  ends[0]?.();
  await settle();
  expect(said.slice(1)).toEqual(['part could not be started: no luck', 'part is running again']);
  expect(pauses).toEqual([500, 1_000]);
  await supervised.stop();
});

test('a stopped part is stopped once and not started again', async () => {
  const { part, ends, stopped } = fakePart();
  const { dependencies, pids } = fakeDependencies();
  const supervised = await supervise(part, dependencies);
  await supervised.stop();
  await settle();
  expect(stopped).toEqual([1]);
  expect(ends).toHaveLength(1);
  expect(pids.size).toBe(0);
});

test('a process that dies while the system stops stays dead', async () => {
  const { part, ends } = fakePart();
  const { dependencies, said, stop } = fakeDependencies();
  const supervised = await supervise(part, dependencies);
  stop.abort();
  ends[0]?.();
  await settle();
  expect(ends).toHaveLength(1);
  expect(said).toEqual([]);
  await supervised.stop();
});

test('a stop during the start of a part leaves no process behind', async () => {
  const { part, stopped } = fakePart();
  const { dependencies, stop } = fakeDependencies();
  const gate = Promise.withResolvers<void>();
  const slow = {
    ...part,
    start: async (hooks: { onSpawn: (pid: number) => void }) => {
      const running = await part.start(hooks);
      await gate.promise;
      return running;
    },
  };
  const starting = supervise(slow, dependencies);
  stop.abort(new Error('stopped'));
  gate.resolve();
  await expect(starting).rejects.toThrow('stopped');
  expect(stopped).toEqual([1]);
});
