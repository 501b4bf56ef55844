import { partitionOfWatch, type Watch, type WatchCommand, watchUid } from '#shared/contracts/watch.ts';
import type { Sweep } from '#shared/redis/watch-sweeps.ts';
import { aMember, aWatch } from '../../test/support/a-watch.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import type { AskedChecks } from './ask-checks.ts';
import { makeRunSweeps, SWEEP_MS_MAX } from './run-sweeps.ts';

const UID = watchUid(aWatch());
const BEGAN = 1_000_000;

/** One running sweep of a watch, and a clock that the test sets. */
function makeWorld(over: Partial<Sweep> = {}) {
  const world = {
    nowMs: BEGAN,
    watch: aWatch({ massRevocation: { share: 0.2, atLeast: 2 } }) as Watch | undefined,
    state: {
      ...{ uid: UID, sweep: BEGAN, cause: 'schedule', rules: 'set@1', holders: new Map([['gold', 10]]) },
      ...{ revocations: new Map(), hold: undefined, toAsk: [0], partCount: 0, toSettle: [] },
      ...over,
    } as Sweep | undefined,
    asked: 0,
    announced: [] as (readonly { id: string }[])[],
    commands: [] as WatchCommand[],
  };
  const change = (by: (state: Sweep) => Partial<Sweep>) => {
    if (world.state) world.state = { ...world.state, ...by(world.state) };
  };
  const dependencies = {
    watches: { readByUid: async () => world.watch },
    ruleSets: { read: async () => ({ id: 'set', rulesVersion: 1 }) },
    members: {
      async *scan() {
        for (;;) yield [aMember()];
      },
    },
    sweeps: {
      running: async () => (world.state ? [UID] : []),
      read: async () => world.state,
      addPart: async () => change(({ partCount }) => ({ partCount: partCount + 1 })),
      finish: async () => undefined,
      async decide(_: string, __: number, roles: readonly string[]) {
        change(({ hold }) => ({ hold: hold ?? roles, toAsk: [], partCount: 0, toSettle: [0, 1] }));
        return world.state?.hold;
      },
      forget: async () => {
        world.state = undefined;
      },
    },
    async askChecks({ beforePart }: AskedChecks) {
      if (!(await beforePart?.('part'))) return false;
      world.asked += 1;
      return true;
    },
    announceHeld: async (_: Watch, roles: readonly { id: string }[]) => void world.announced.push(roles),
    publish: async (_: unknown, command: WatchCommand) => void world.commands.push(command),
    isOwned: (partition: number) => partition === 0 || partition === partitionOfWatch(UID),
    partsMax: 3,
    pace: () => new Promise((resolve) => setImmediate(resolve)),
    now: () => world.nowMs,
    log: { warn: () => undefined },
  };
  const runSweeps = makeRunSweeps(dependencies as unknown as Parameters<typeof makeRunSweeps>[0]);
  return Object.assign(world, { runSweeps });
}

test('a sweep with unanswered parts ends within 15 minutes, with the answers that came', async () => {
  const world = makeWorld({ revocations: new Map([['gold', 1]]) });
  await world.runSweeps();
  await waitUntil('the parts that may wait', async () => world.asked === 3);
  await world.runSweeps();
  expect(world.commands).toEqual([]);
  world.nowMs = BEGAN + SWEEP_MS_MAX + 1;
  await waitUntil('the settlement', async () => world.commands.length > 0);
  expect(world.asked).toBe(3);
  expect(world.commands.every(({ command }) => command === 'settle')).toBe(true);
  expect(world.commands[0]).toMatchObject({ sweep: BEGAN, holdRoles: [] });
});

test('a sweep that revokes a role from too many holds that role, before anything is settled', async () => {
  const world = makeWorld({ toAsk: [], revocations: new Map([['gold', 3]]) });
  await world.runSweeps();
  await waitUntil('the settlement', async () => world.commands.length > 0);
  expect(world.announced).toEqual([[{ id: 'gold', holders: 10, revocations: 3 }]]);
  expect(world.commands[0]).toMatchObject({ holdRoles: ['gold'] });
});

test.each([
  ['paused', { paused: { reason: 'requested', at: '2026-11-22T10:00:00.000Z' } } as const],
  ['deleted', undefined],
])(
  'a sweep of a watch that is %s in mid-sweep requests no more checks, and is forgotten',
  async (_, change) => {
    const world = makeWorld();
    await world.runSweeps();
    await waitUntil('the parts that may wait', async () => world.asked === 3);
    world.watch = change && aWatch(change);
    if (!change) world.state = undefined;
    // Its parts are answered: it would continue.
    else if (world.state) world.state = { ...world.state, partCount: 0 };
    await waitUntil('the end of the sweep', async () => {
      await world.runSweeps();
      return world.state === undefined;
    });
    expect(world.asked).toBe(3);
    expect(world.commands).toEqual([]);
  },
);
