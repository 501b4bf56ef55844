import {
  partitionOfWatch,
  type Watch,
  type WatchCommand,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { SweepFigures } from '#shared/stores/watches/members/watch-members.ts';
import type { Sweep, SweepDecision } from '#shared/stores/watches/watch-sweeps.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { aCheck, aMember, aWatch, RULES } from '../../../test/support/builders/a-watch.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { ChecksToRequest } from '../stores.ts';
import { makeRunSweeps, SWEEP_MS_MAX } from './run-sweeps.ts';

const UID = watchUid(aWatch());
const BEGAN = 1_000_000;
const OTHER_RULES = aRuleSet('app_1', 'set', { digest: 'sha-256=:b3RoZXJSdWxlcw==:', rulesVersion: 2 });

/** One running sweep of a watch, and a clock that the test sets. */
function makeWorld(
  over: Partial<Sweep> & { found?: number } = {},
  sweeps: object = {},
  watchOf?: (uid: string) => Watch,
  pace: (looks: number) => Promise<unknown> = () => new Promise((resolve) => setImmediate(resolve)),
) {
  const { found = 0, ...ofSweep } = over;
  const world = {
    /** What the watch's sweeps hold back, by sweep. */
    heldBack: new Map<number, Partial<SweepFigures>>([[BEGAN, { revocations: new Map([['gold', found]]) }]]),
    nowMs: BEGAN,
    ruleSet: aRuleSet('app_1', 'set'),
    watch: aWatch({ massRevocation: { share: 0.2, atLeast: 2 } }) as Watch | undefined,
    state: {
      ...{
        uid: UID,
        sweep: BEGAN,
        since: BEGAN,
        kind: 'schedule',
        rules: RULES,
        holders: new Map([['gold', 10]]),
      },
      ...{ decision: undefined, toAsk: [0], partCount: 0, toSettle: [] },
      ...ofSweep,
    } as Sweep | undefined,
    /** Whether too many parts of the client app wait for their results. */
    isFull: false,
    asked: 0,
    page: [aMember()],
    checks: [] as ChecksToRequest[],
    announced: [] as (readonly { id: string }[])[],
    steps: [] as string[],
    /** When sweeps were made due. */
    due: [] as number[],
    /** Held revocations of `gold`. */
    held: 0,
    /** When revocations of `gold` were sent. */
    sentAt: [] as number[],
    commands: [] as WatchCommand[],
  };
  const change = (by: (state: Sweep) => Partial<Sweep>) => {
    if (world.state) world.state = { ...world.state, ...by(world.state) };
  };
  const dependencies = {
    watches: { readByUid: async (uid: string) => (watchOf ? watchOf(uid) : world.watch) },
    ruleSets: { read: async () => world.ruleSet },
    positions: { reach: async () => ({ reached: undefined }) },
    members: {
      async *scan() {
        for (;;) yield world.page;
      },
      figures: async () => ({
        ...{ held: new Map([['gold', world.held]]), holders: new Map([['gold', 9]]) },
        sweeps: world.heldBack,
      }),
      countRevoked: async (_: string, __: string, ___: number, untilMs = Infinity) =>
        world.sentAt.filter((atMs) => atMs <= untilMs).length,
    },
    sweeps: {
      running: async () => (world.state ? [UID] : []),
      read: async () => world.state,
      addPart: async () => change(({ partCount }) => ({ partCount: partCount + 1 })),
      finish: async () => undefined,
      async decide(_: string, __: number, made: SweepDecision) {
        const toSettle = made.sweeps.length > 0 ? [0, 1] : [];
        if (world.state?.decision === undefined) change(() => ({ decision: made, toSettle }));
        return world.state?.decision;
      },
      async beginRest(_: string, sweep: number, next: Pick<Sweep, 'sweep' | 'holders'>) {
        if (world.state?.sweep === sweep)
          change(() => ({ ...next, decision: undefined, partCount: 0, toSettle: [] }));
      },
      bringForward: async (_: string, atMs: number) => void world.due.push(atMs),
      async end(_: string, sweep: number | undefined) {
        if (world.state?.sweep === sweep) world.state = undefined;
      },
      forget: async () => {
        world.state = undefined;
      },
      ...sweeps,
    },
    async requestChecks(checks: ChecksToRequest) {
      const { beforePart, members } = checks;
      if (!(await beforePart?.('part'))) return members;
      world.asked += 1;
      world.checks.push(checks);
      return [];
    },
    async announceHeld(_: Watch, roles: readonly { id: string }[]) {
      world.steps.push('announce');
      world.announced.push(roles);
    },
    noteSwept: async () => void world.steps.push('note'),
    async publish(_: unknown, command: WatchCommand) {
      world.steps.push(command.command);
      world.commands.push(command);
    },
    isOwned: (partition: number) => partition === 0 || partition === partitionOfWatch(UID),
    openParts: { take: async () => !world.isFull },
    partsMax: 3,
    pace,
    now: () => world.nowMs,
    log: { warn: () => undefined },
  };
  const runSweeps = makeRunSweeps(dependencies as unknown as Parameters<typeof makeRunSweeps>[0]);
  return Object.assign(world, { runSweeps });
}

test('a sweep looks at a revocation whose grace is over by other endpoints than those of its first check', async () => {
  const since = new Date(BEGAN - 2).toISOString();
  const heldBack = {
    ...{ since, why: { cause: 'schedule' as const } },
    graceUntil: new Date(BEGAN - 1).toISOString(),
  };
  const world = makeWorld();
  const answeredBy = { '1': ['0'] };
  const gold = { id: 'gold', granted: true, since, heldBack: { ...heldBack, answeredBy } };
  world.page = [aMember({ memberId: 'a' }), aMember({ memberId: 'b', roles: [gold] })];
  await world.runSweeps();
  await waitUntil('the parts that may wait', async () => world.asked === 3);
  // Otherwise it would wait for its parts for ever.
  world.state = undefined;
  expect(
    world.checks.slice(0, 2).map(({ members, avoid }) => [members.map(({ memberId }) => memberId), avoid]),
  ).toEqual([
    [['a'], undefined],
    [['b'], answeredBy],
  ]);
});

test('a sweep with unanswered parts ends within 15 minutes, with the answers that came', async () => {
  const world = makeWorld({ found: 1 });
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

test.each(['asked', 'rule-set', 'gap'] as const)(
  'a sweep of the kind %s that has not asked everybody in time is followed by one that asks the rest, and is not over before',
  async (kind) => {
    const world = makeWorld({ kind });
    world.heldBack.clear();
    // All watchers were away.
    world.nowMs = BEGAN + SWEEP_MS_MAX + 1;
    const checked = aCheck(0, { at: new Date(BEGAN).toISOString() });
    world.page = [aMember({ memberId: 'asked', checked }), aMember({ memberId: 'left' })];
    await waitUntil('the parts that may wait', async () => {
      await world.runSweeps();
      return world.asked === 3;
    });
    expect(world.checks[0]).toMatchObject({ sweep: world.nowMs, isCharged: kind !== 'gap' });
    expect(world.checks[0]?.members.map(({ memberId }) => memberId)).toEqual(['left']);
    expect(world.state).toMatchObject({ kind, since: BEGAN, holders: new Map([['gold', 9]]) });
    expect(world.steps).not.toContain('note');
    const began = world.nowMs;
    if (world.state) world.state = { ...world.state, toAsk: [] };
    // An answer to the first one that came late.
    world.heldBack.set(BEGAN, { revocations: new Map([['gold', 1]]) });
    world.nowMs += SWEEP_MS_MAX + 1;
    await waitUntil('the settlement', async () => {
      await world.runSweeps();
      return world.commands.length > 0;
    });
    expect(world.commands[0]).toMatchObject({ sweep: began, sweeps: [BEGAN] });
    if (world.state) world.state = { ...world.state, toSettle: [] };
    await waitUntil('the end of the sweep', async () => {
      await world.runSweeps();
      return world.state === undefined;
    });
    expect(world.steps).toContain('note');
  },
);

test('a scheduled sweep that has not asked everybody in time ends', async () => {
  const world = makeWorld();
  world.heldBack.clear();
  world.nowMs = BEGAN + SWEEP_MS_MAX + 1;
  await waitUntil('the end of the sweep', async () => {
    await world.runSweeps();
    return world.state === undefined;
  });
  expect([world.asked, world.steps]).toEqual([0, ['announce', 'note']]);
});

test('a sweep waits while too many parts of its client app wait for their results', async () => {
  const world = makeWorld();
  world.isFull = true;
  await world.runSweeps();
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(world.asked).toBe(0);
  world.isFull = false;
  await waitUntil('the parts that may wait', async () => world.asked === 3);
  // Otherwise it would wait for its parts for ever.
  world.state = undefined;
});

test('the sweeps that a process continues are shared by account, however many client apps it has, and others find places', async () => {
  const read: string[] = [];
  const never = new Promise<undefined>(() => undefined);
  const uids = Array.from({ length: 500 }, (_, i) => `app_${i}/w/1`);
  const { runSweeps } = makeWorld(
    {},
    {
      running: async () => [...uids, 'victim/w/1'],
      read(uid: string) {
        read.push(uid);
        return never;
      },
    },
    (uid) => aWatch({ accountId: uid.startsWith('victim') ? 'victim' : 'greedy' }),
  );
  await runSweeps();
  await runSweeps();
  // Three eighths of 128.
  expect([read.length, read.at(-1)]).toEqual([49, 'victim/w/1']);
});

test('a sweep that finds no room for a part looks again after longer and longer times', async () => {
  const looks: number[] = [];
  const world = makeWorld({ partCount: 3 }, {}, undefined, async (count) => {
    looks.push(count);
    if (count === 3) world.state = undefined;
  });
  await world.runSweeps();
  await waitUntil('the end of the sweep', async () => world.state === undefined);
  expect(looks).toEqual([0, 1, 2, 3]);
});

test('a sweep that revokes a role from too many holds that role, and announces it after the commands: a release follows them', async () => {
  const world = makeWorld({ toAsk: [], found: 3 });
  await world.runSweeps();
  await waitUntil('the announcement', async () => world.announced.length > 0);
  expect(world.steps).toEqual(['settle', 'settle', 'announce']);
  expect(world.announced).toEqual([[{ id: 'gold', holders: 10, revocations: 3 }]]);
  expect(world.commands[0]).toMatchObject({ holdRoles: ['gold'] });
});

const HELD = [{ id: 'gold', holders: 10, revocations: 3, heldAt: '2026-11-22T10:00:00.000Z' }];

/** The roles that a sweep with two revocations of `gold` holds. */
async function heldBySweep(over: Pick<ReturnType<typeof makeWorld>, 'held' | 'sentAt'>, watch: Watch) {
  const world = Object.assign(makeWorld({ toAsk: [], found: 2 }), {
    ...over,
    watch,
  });
  await world.runSweeps();
  await waitUntil('the settlement', async () => world.commands.length > 0);
  return world.commands[0]?.command === 'settle' && world.commands[0].holdRoles;
}

test('while revocations of a role are held, those that a later sweep finds are held with them', async () => {
  const watch = aWatch({ massRevocation: { share: 0.2, atLeast: 3 } });
  expect(await heldBySweep({ held: 3, sentAt: [] }, { ...watch, held: HELD })).toEqual(['gold']);
  expect(await heldBySweep({ held: 0, sentAt: [] }, { ...watch, held: HELD })).toEqual([]);
  // The client has released them, and some are not sent yet.
  expect(await heldBySweep({ held: 3, sentAt: [] }, watch)).toEqual([]);
});

test('the revocations of a sweep count together with those that were sent in the last hour', async () => {
  const watch = aWatch({ massRevocation: { share: 0.25, atLeast: 3 } });
  expect(await heldBySweep({ held: 0, sentAt: [] }, watch)).toEqual([]);
  // 4 of 10 holders and the 2 that lost the role before the sweep.
  expect(await heldBySweep({ held: 0, sentAt: [BEGAN - 2, BEGAN - 1] }, watch)).toEqual(['gold']);
  // 3 of 11, and 3 of 10: the sweep began with 10 holders.
  expect(
    await heldBySweep(
      { held: 0, sentAt: [BEGAN - 1] },
      { ...watch, massRevocation: { share: 0.28, atLeast: 3 } },
    ),
  ).toEqual([]);
  expect(
    await heldBySweep(
      { held: 0, sentAt: [BEGAN + 1] },
      { ...watch, massRevocation: { share: 0.28, atLeast: 3 } },
    ),
  ).toEqual(['gold']);
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

test.each([
  ['rules', { ruleSet: OTHER_RULES }],
  ['block tag', { watch: aWatch({ blockTag: 'finalized' }) }],
])(
  'a sweep whose watch gets another %s requests no more checks, and ends undecided for another sweep',
  async (_, change) => {
    const world = makeWorld({ found: 1 });
    await world.runSweeps();
    await waitUntil('the parts that may wait', async () => world.asked === 3);
    Object.assign(world, change);
    await waitUntil('the end of the sweep', async () => {
      await world.runSweeps();
      return world.state === undefined;
    });
    expect(world.asked).toBe(3);
    expect(world.commands).toEqual([]);
    // Also where the rules are the former ones again by then, so that they do not start it.
    expect(world.due).toEqual([BEGAN]);
  },
);

test('a sweep that is decided when its rules change is settled', async () => {
  const world = makeWorld({ toAsk: [], decision: { sweeps: [BEGAN], hold: [] }, toSettle: [0, 1] });
  world.ruleSet = OTHER_RULES;
  await world.runSweeps();
  await waitUntil('the settlement', async () => world.commands.length > 0);
  expect(world.commands.map(({ command }) => command)).toEqual(['settle', 'settle']);
});

test('a sweep is settled at once, however soon it follows a sweep that was given up', async () => {
  const world = makeWorld({ toAsk: [] });
  await world.runSweeps();
  await waitUntil('the first settlement', async () => world.commands.length === 2);
  if (world.state) world.state = { ...world.state, sweep: BEGAN + 1, decision: undefined, toSettle: [] };
  await waitUntil('the second settlement', async () => {
    await world.runSweeps();
    return world.commands.length > 2;
  });
  expect(world.commands.slice(2)).toMatchObject([{ sweep: BEGAN + 1 }, { sweep: BEGAN + 1 }]);
});

test('a sweep asks no member that was checked since it began: another owner may have asked', async () => {
  const world = makeWorld();
  const checked = aMember({ memberId: 'checked', checked: aCheck(0, { at: new Date(BEGAN).toISOString() }) });
  const before = aMember({
    ...{ memberId: 'before', checked: aCheck(0, { at: new Date(BEGAN - 1).toISOString() }) },
  });
  world.page = [checked, before, aMember({ memberId: 'never' })];
  await world.runSweeps();
  await waitUntil('the parts that may wait', async () => world.asked === 3);
  expect(world.checks[0]?.members.map(({ memberId }) => memberId)).toEqual(['before', 'never']);
  world.state = undefined;
});

test.each([
  ['schedule', { why: { cause: 'schedule' }, isCharged: true, forgives: true }],
  ['asked', { why: { cause: 'schedule' }, isCharged: true, forgives: false }],
  ['rule-set', { why: { cause: 'rule-set' }, isCharged: true, forgives: false }],
  ['gap', { why: { cause: 'schedule' }, isCharged: false, forgives: false }],
] as const)('the checks of a sweep of the kind %s', async (kind, checks) => {
  const world = makeWorld({ kind });
  await world.runSweeps();
  await waitUntil('the parts that may wait', async () => world.asked === 3);
  expect(world.checks[0]).toMatchObject(checks);
  world.state = undefined;
});

test('the settlement of a sweep leaves out what an earlier sweep found and this one could not read', async () => {
  const world = makeWorld({ toAsk: [], kind: 'asked', found: 1 });
  world.heldBack.set(BEGAN - 1, { revocations: new Map([['gold', 1]]) });
  await world.runSweeps();
  await waitUntil('the settlement', async () => world.commands.length > 0);
  expect(world.commands[0]).toMatchObject({ sweep: BEGAN, sweeps: [BEGAN] });
});

test('the revocations of sweeps that wait for a second check are settled with none of them open', async () => {
  const world = makeWorld({ toAsk: [], found: 1 });
  const gold = new Map([['gold', 1]]);
  world.heldBack.set(BEGAN - 1, { revocations: gold, hasPending: true });
  world.heldBack.set(BEGAN - 2, { revocations: gold, hasLooked: true, hasPending: false });
  await world.runSweeps();
  await waitUntil('the settlement', async () => world.commands.length > 0);
  expect(world.commands[0]).toMatchObject({ sweep: BEGAN, sweeps: [BEGAN, BEGAN - 2] });
  // 2 of 10 holders.
  expect(world.commands[0]).toMatchObject({ holdRoles: [] });
});

test('a revocation whose second check cannot be read for long after its grace keeps no other of its sweep back', async () => {
  const settledAt = async (afterMs: number) => {
    const world = makeWorld({ kind: 'settlement', toAsk: [] });
    world.watch = aWatch({ graceSeconds: 60 });
    const figures = { revocations: new Map([['gold', 2]]), hasPending: true, hasLooked: true };
    world.heldBack.set(BEGAN, figures);
    world.nowMs = BEGAN + afterMs;
    await world.runSweeps();
    await waitUntil('the decision', async () => world.state?.decision !== undefined);
    return world.state?.decision?.sweeps;
  };
  const looksOverMs = 2 * SWEEP_MS_MAX + 60_000;
  expect(await settledAt(looksOverMs)).toEqual([]);
  expect(await settledAt(looksOverMs + 1)).toEqual([BEGAN]);
});
