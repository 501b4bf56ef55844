import { rulesNameOf } from '#shared/contracts/rules/rule-set.ts';
import { type Watch, type WatchEvent, watchKey, watchUid } from '#shared/contracts/watches/watch.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { aWatch, RULES } from '../../../test/support/builders/a-watch.ts';
import type { Dependencies } from '../dependencies.ts';
import { nextSweepAt } from '../domain/next-sweep-at.ts';
import { makeAnnounceHeld } from './announce-held.ts';
import { makeChangeWatch } from './change-watch.ts';
import { makeProcessWatches } from './process-watches.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');

function makeWorld(
  watches: readonly Watch[],
  over: {
    deletedApp?: string;
    failing?: string;
    /** When the rule set `slow` is read. */
    slow?: Promise<void>;
    members?: number;
    held?: number;
    /** The rules of a running sweep. */
    running?: string;
    /** When the oldest sweep of any watch began. */
    sweptAt?: number;
    memberDueAt?: number;
    /** When the next sweep is due; `null`: Redis has lost it. */
    next?: { atMs: number; isForGap: boolean } | null;
    sweeps?: ReadonlyMap<number, object>;
    /** By chain, what is known of it. */
    sight?: { readAt?: number; owedSince?: number };
    followedAt?: number;
  } = {},
) {
  const documents = new Map(watches.map((watch) => [watchKey(watch), watch]));
  const world = {
    documents,
    nowMs: NOW,
    sight: over.sight ?? {},
    followedAt: over.followedAt,
    /** The client apps whose rule sets were read. */
    read: [] as string[],
    begun: [] as { uid: string; kind: string; sweep: number }[],
    soon: [] as Watch[],
    removed: [] as string[],
    due: [] as [string, number][],
    postpone: [] as [string, number][],
    allDue: [] as number[],
    events: [] as unknown[],
    app: {} as object,
    overdue: [] as number[],
  };
  const deps = {
    watches: {
      documents: {},
      claimDue: async () => [...documents.values()],
      setAllDue: async (_: number, atMs: number) => void world.allDue.push(atMs),
      setDue: async (uid: string, atMs: number) => void world.due.push([uid, atMs]),
      postpone: async (uid: string, atMs: number) => void world.postpone.push([uid, atMs]),
    },
    ruleSets: {
      async read(clientId: string, id: string) {
        world.read.push(clientId);
        if (id === over.failing) throw new Error('broken');
        if (id === 'slow') await over.slow;
        return aRuleSet('app_1', id);
      },
    },
    clientApps: {
      read: async (id: string) =>
        id === over.deletedApp
          ? undefined
          : { clientId: id, suspended: false, scope: 'approved', ...world.app },
    },
    members: {
      figures: async () => ({
        members: over.members ?? 1,
        holders: new Map([['gold', 10]]),
        held: new Map(over.held ? [['gold', over.held]] : []),
        sweeps: over.sweeps ?? new Map(),
      }),
      forget: async () => undefined,
      oldestDueAt: async () => over.memberDueAt,
      async page(uid: string) {
        world.removed.push(uid);
        return { members: [] };
      },
    },
    sweeps: {
      read: async () => over.running && { rules: over.running, since: NOW - 1_000 },
      begin: async (sweep: { uid: string; kind: string; sweep: number }) =>
        over.running === undefined && world.begun.push(sweep) > 0,
      next: async () => (over.next === null ? undefined : (over.next ?? { atMs: NOW + 1, isForGap: false })),
      bringForward: async () => undefined,
      oldestAt: async () => over.sweptAt,
      forget: async () => undefined,
    },
    followed: {
      follow: async () => undefined,
      forget: async () => undefined,
      chainsOf: async () => new Map(over.followedAt === undefined ? [] : [[1, NOW]]),
    },
    chains: {
      forget: async () => undefined,
      sight: async () => world.sight,
    },
    positions: { reach: async () => ({ reached: 1, readAt: world.followedAt }) },
    sweepSoon: async (watch: Watch) => void world.soon.push(watch),
    async writeDocument(_: unknown, key: string, change: (current: Watch | undefined) => Watch | undefined) {
      const document = change(documents.get(key));
      if (document) documents.set(key, document);
      return { changed: document !== undefined, document };
    },
    publishEvent: async (_: Watch, { json }: WatchEvent) => void world.events.push(JSON.parse(json)),
    metrics: {
      setWatches: () => undefined,
      setOverdue: (seconds: number) => void world.overdue.push(seconds),
    },
    log: { warn: () => undefined },
    isOwned: () => true,
    partitions: [0],
    now: () => world.nowMs,
  } as unknown as Dependencies;
  Object.assign(deps, makeChangeWatch(deps));
  Object.assign(deps, makeAnnounceHeld(deps));
  const { announceHeld, noteSwept } = deps;
  return Object.assign(world, { announceHeld, noteSwept }, makeProcessWatches(deps));
}

const of = (watchId: string, over: Partial<Watch> = {}) => aWatch({ watchId, ...over });

test('a new version of the rule set starts a sweep in the next round, once', async () => {
  const world = makeWorld([of('w', { sweptRules: 'old@1' })]);
  await world.processWatches();
  await world.processWatches();
  expect(world.begun).toMatchObject([{ uid: watchUid(of('w')), kind: 'rule-set' }]);
});

test('a sweep for new rules that began before a crash is not repeated', async () => {
  const rules = rulesNameOf(aRuleSet('app_1', of('w').ruleSet));
  const world = makeWorld([of('w', { sweptRules: 'old@1' })], { running: RULES });
  await world.processWatches();
  expect(world.documents.get(watchKey(of('w')))).toMatchObject({
    sweptRules: rules,
    sweepAskedAt: new Date(NOW - 1_000).toISOString(),
  });
  const other = makeWorld([of('w', { sweptRules: 'old@1' })], { running: 'old@1' });
  await other.processWatches();
  expect(other.documents.get(watchKey(of('w')))?.sweptRules).toBe('old@1');
});

test('a sweep that was asked for begins again if Redis has lost it, and not while it runs', async () => {
  const sweptRules = rulesNameOf(aRuleSet('app_1', of('w').ruleSet));
  const asked = of('w', { sweptRules, sweepAskedAt: new Date(NOW).toISOString() });
  const lost = makeWorld([asked]);
  await lost.processWatches();
  expect(lost.begun).toMatchObject([{ uid: watchUid(asked), kind: 'asked' }]);
  const running = makeWorld([asked], { running: RULES });
  await running.processWatches();
  expect(running.begun).toEqual([]);
});

test('a watch that was paused because the bytes of its day were used up goes on after midnight with a sweep', async () => {
  const pausedAt = (at: string) => of('w', { paused: { reason: 'bytes-per-day', at } });
  const yesterday = makeWorld([pausedAt('2026-11-21T23:59:59.999Z')]);
  await yesterday.processWatches();
  expect(yesterday.documents.get(watchKey(of('w')))).not.toHaveProperty('paused');
  expect(yesterday.documents.get(watchKey(of('w')))).toHaveProperty('sweepAskedAt');
  const today = makeWorld([pausedAt('2026-11-22T00:00:00.000Z')]);
  await today.processWatches();
  expect(today.documents.get(watchKey(of('w')))?.paused?.reason).toBe('bytes-per-day');
  const other = makeWorld([of('w', { paused: { reason: 'requested', at: '2026-11-21T10:00:00.000Z' } })]);
  await other.processWatches();
  expect(other.documents.get(watchKey(of('w')))?.paused?.reason).toBe('requested');
});

test.each([
  [{ suspended: true }, 'client-app-suspended'],
  [{ scope: 'rejected' }, 'scope-not-approved'],
])('a watch is paused while its app is %j, and goes on afterwards with a sweep', async (app, reason) => {
  const world = makeWorld([of('w', { sweptRules: 'old@1' })]);
  world.app = app;
  await world.processWatches();
  const key = watchKey(of('w'));
  expect(world.documents.get(key)?.paused?.reason).toBe(reason);
  expect(world.begun).toEqual([]);
  world.app = {};
  await world.processWatches();
  expect(world.documents.get(key)).not.toHaveProperty('paused');
  expect(world.documents.get(key)).toHaveProperty('sweepAskedAt');
});

test('the end of a sweep is noted for those that asked for it before it began', async () => {
  const asked = of('w', { sweepAskedAt: new Date(NOW).toISOString() });
  const world = makeWorld([asked]);
  await world.noteSwept(asked, NOW - 60_000);
  expect(world.documents.get(watchKey(asked))?.sweepAskedAt).toBeDefined();
  await world.noteSwept(asked, NOW);
  expect(world.documents.get(watchKey(asked))).not.toHaveProperty('sweepAskedAt');
});

test('a watch whose members were never swept has no sweep for its first rule set', async () => {
  const world = makeWorld([of('w')]);
  await world.processWatches();
  expect(world.begun).toEqual([]);
});

test('a paused watch is not swept, whatever its rule set', async () => {
  const paused = { reason: 'requested', at: '2026-11-22T10:00:00.000Z' } as const;
  const world = makeWorld([of('w', { sweptRules: 'old@1', paused })]);
  await world.processWatches();
  expect(world.begun).toEqual([]);
});

const roles = [{ id: 'gold', holders: 10, revocations: 3 }];

test('held revocations of a sweep are announced once, by its end or, after a crash there, in a later round', async () => {
  const world = makeWorld([of('w')], { held: 3 });
  await world.announceHeld(of('w'), roles, NOW);
  await world.processWatches();
  const crashed = makeWorld([of('w')], { held: 3 });
  await crashed.processWatches();
  await crashed.processWatches();
  for (const { events, documents } of [world, crashed]) {
    expect(events).toEqual([{ type: 'watch.held', watchId: 'w', roles }]);
    expect(documents.get(watchKey(of('w')))?.held).toMatchObject(roles);
  }
});

test('a paused watch does not announce held roles; the first round after the pause does', async () => {
  const paused = { reason: 'requested', at: '2026-11-22T10:00:00.000Z' } as const;
  const world = makeWorld([of('w', { paused })], { held: 3 });
  await world.announceHeld(of('w', { paused }), roles, NOW);
  await world.processWatches();
  expect(world.events).toEqual([]);
  world.documents.set(watchKey(of('w')), of('w'));
  await world.processWatches();
  expect(world.events).toMatchObject([{ type: 'watch.held', roles }]);
});

test('held revocations are not announced after a release that has sent them', async () => {
  const world = makeWorld([of('w', { releasedAt: new Date(NOW).toISOString() })]);
  await world.announceHeld(of('w'), roles, NOW - 1);
  expect(world.events).toEqual([]);
  await world.announceHeld(of('w'), roles, NOW + 1);
  expect(world.events).toHaveLength(1);
});

test('the watches of a deleted app end, and their members are removed', async () => {
  const world = makeWorld([of('w', { clientId: 'app_gone' }), of('other')], { deletedApp: 'app_gone' });
  await world.processWatches();
  expect(world.documents.get('app_gone/w')?.deletedAt).toBeDefined();
  expect(world.removed).toEqual([watchUid(of('w', { clientId: 'app_gone' }))]);
  expect(world.documents.get(watchKey(of('other')))?.deletedAt).toBeUndefined();
});

test('a watch that cannot be processed does not keep the others from their sweeps', async () => {
  const world = makeWorld([of('broken', { ruleSet: 'broken' }), of('sound', { sweptRules: 'old@1' })], {
    failing: 'broken',
  });
  await world.processWatches();
  expect(world.begun).toMatchObject([{ uid: watchUid(of('sound')) }]);
  expect(world.due).toContainEqual([watchUid(of('broken')), NOW + 2_000]);
});

test('a watch that becomes due behind 1 000 watches of another account is processed by the next turn', async () => {
  const greedy = Array.from({ length: 1_000 }, (_, i) =>
    of(`w${i}`, { accountId: 'greedy', clientId: `app_${i % 500}`, ruleSet: 'slow' }),
  );
  let end = () => {};
  const slow = new Promise<void>((resolve) => {
    end = resolve;
  });
  const world = makeWorld(greedy, { slow });
  const round = world.processWatches();
  await new Promise((resolve) => setImmediate(resolve));
  world.documents.set('victim/w', of('w', { accountId: 'victim', clientId: 'victim' }));
  const next = world.processWatches();
  await new Promise((resolve) => setImmediate(resolve));
  // No more than 16 at once.
  expect(world.read).toHaveLength(16);
  end();
  await Promise.all([round, next]);
  expect(world.read.indexOf('victim')).toBeLessThanOrEqual(16 + 16);
  expect(world.read).toHaveLength(1_001);
});

test('all watches become due, once, if changes may have been missed', async () => {
  const world = makeWorld([of('w')]);
  await world.processWatches();
  world.processAllNext();
  await world.processWatches();
  await world.processWatches();
  expect(world.allDue).toEqual([NOW]);
});

test('a deleted watch without members is processed again at doubling intervals', async () => {
  const secondsAgo = (seconds: number) => new Date(NOW - seconds * 1_000).toISOString();
  const deleted = [of('just', { deletedAt: secondsAgo(1) }), of('long', { deletedAt: secondsAgo(600) })];
  const ended = makeWorld(deleted, { members: 0 });
  await ended.processWatches();
  expect(ended.postpone).toEqual([
    [watchUid(of('just')), NOW + 30_000],
    [watchUid(of('long')), NOW + 600_000],
  ]);
  const ending = makeWorld(deleted);
  await ending.processWatches();
  expect([ending.postpone, ending.due.length]).toEqual([[], 2]);
});

test('the members of a deleted watch, and of its deleted successor with the same id, are removed', async () => {
  const twice = of('w', {
    deletedAt: new Date(NOW).toISOString(),
    formerCreatedAt: '2026-11-21T10:00:00.000Z',
  });
  const ending = makeWorld([twice]);
  await ending.processWatches();
  expect(ending.removed).toEqual([watchUid({ ...twice, createdAt: '2026-11-21T10:00:00.000Z' })]);
  expect(ending.postpone).toEqual([]);
  const ended = makeWorld([twice], { members: 0 });
  await ended.processWatches();
  expect(ended.documents.get(watchKey(twice))?.formerCreatedAt).toBeUndefined();
  expect(ended.postpone).toHaveLength(1);
});

test('a recreated watch is processed as any other, though its predecessor has ended', async () => {
  const world = makeWorld([of('w', { formerCreatedAt: '2026-11-21T10:00:00.000Z' })], { members: 0 });
  await world.processWatches();
  expect(world.documents.get(watchKey(of('w')))?.formerCreatedAt).toBeUndefined();
  expect(world.postpone).toEqual([]);
});

test('a check is overdue since its member was due, or since the running sweep began', async () => {
  const overdue = async (over: Parameters<typeof makeWorld>[1]) => {
    const world = makeWorld([], over);
    await world.processWatches();
    return world.overdue;
  };
  expect(await overdue({})).toEqual([0]);
  expect(await overdue({ memberDueAt: NOW - 30_000, sweptAt: NOW - 700_000 })).toEqual([700]);
  expect(await overdue({ memberDueAt: NOW - 30_000 })).toEqual([30]);
  expect(await overdue({ memberDueAt: NOW + 30_000 })).toEqual([0]);
});

describe('the next sweep', () => {
  const sweptRules = rulesNameOf(aRuleSet('app_1', 'set'));
  const begunFor = async (over: Parameters<typeof makeWorld>[1], watch: Partial<Watch> = {}) => {
    const world = makeWorld([of('w', { sweptRules, everySeconds: 3_600, ...watch })], over);
    await world.processWatches();
    return world;
  };
  const slot = nextSweepAt(watchUid(of('w')), 3_600, NOW - 3_600_000);

  test.each([
    ['at its interval', { atMs: slot, isForGap: false }, 'schedule'],
    ['when it was asked for', { atMs: NOW - 5, isForGap: false }, 'asked'],
    ['after a gap', { atMs: NOW - 5, isForGap: true }, 'gap'],
  ])('begins %s', async (_, next, kind) => {
    expect((await begunFor({ next })).begun).toMatchObject([{ kind }]);
  });

  test('comes soon and free of charge where Redis has lost its time, unless the watch is new', async () => {
    expect((await begunFor({ next: null })).soon).toHaveLength(1);
    const created = { createdAt: new Date(NOW - 59_000).toISOString() };
    expect((await begunFor({ next: null }, created)).soon).toEqual([]);
  });

  test('is a settlement when the last revocation of a sweep was looked at again, or could not be for long', async () => {
    const begunAfter = async (sweep: number, hasPending: boolean) =>
      (await begunFor({ sweeps: new Map([[sweep, { hasLooked: true, hasPending }]]) })).begun;
    expect(await begunAfter(NOW - 1, true)).toEqual([]);
    for (const [sweep, hasPending] of [
      [NOW - 1, false],
      [NOW - 3_600_000, true],
    ] as const)
      expect(await begunAfter(sweep, hasPending)).toMatchObject([{ kind: 'settlement', sweep }]);
  });
});

describe('a chain that cannot be read', () => {
  const iso = (ms: number) => new Date(ms).toISOString();
  const watch = of('w', { stalledAfterSeconds: 60 });
  const chainSince = (ms: number) => ({ chains: [{ chainId: 1, since: iso(ms) }] });

  test('is reported once, when a check has been owed for as long as the watch says, with when it was last read', async () => {
    const world = makeWorld([watch], { sight: { owedSince: NOW - 59_000, readAt: NOW - 90_000 } });
    await world.processWatches();
    expect(world.events).toEqual([]);
    expect(world.due).toContainEqual([watchUid(watch), NOW + 1_000]);
    world.nowMs += 1_000;
    await world.processWatches();
    await world.processWatches();
    expect(world.events).toEqual([{ type: 'watch.stalled', watchId: 'w', ...chainSince(NOW - 90_000) }]);
    expect(world.documents.get(watchKey(watch))?.stalled).toMatchObject(chainSince(NOW - 90_000).chains);
  });

  test('that its follower read last is reported since then, whenever a check had read it', async () => {
    const followedAt = NOW - 60_000;
    for (const sight of [
      { readAt: NOW - 7_200_000 },
      { readAt: NOW - 5_000 },
      { readAt: NOW - 7_200_000, owedSince: NOW - 60_000 },
    ]) {
      const world = makeWorld([watch], { followedAt, sight });
      await world.processWatches();
      expect(world.events).toEqual([{ type: 'watch.stalled', watchId: 'w', ...chainSince(followedAt) }]);
    }
  });

  test('is not reported while another check of the watch reads it, or while the watch is paused', async () => {
    const read = makeWorld([watch], { sight: { owedSince: NOW - 900_000, readAt: NOW - 59_000 } });
    const paused = makeWorld([{ ...watch, paused: { reason: 'requested', at: iso(NOW) } }], {
      sight: { owedSince: NOW - 900_000 },
    });
    for (const world of [read, paused]) {
      await world.processWatches();
      expect(world.events).toEqual([]);
    }
  });

  test('is not reported for what was owed before the end of a pause, until it is unread for as long again', async () => {
    const resumed = { ...watch, resumedAt: iso(NOW - 59_000) };
    const world = makeWorld([resumed], { sight: { owedSince: NOW - 900_000, readAt: NOW - 900_000 } });
    await world.processWatches();
    expect(world.events).toEqual([]);
    world.nowMs += 1_000;
    await world.processWatches();
    expect(world.events).toEqual([{ type: 'watch.stalled', watchId: 'w', ...chainSince(NOW - 900_000) }]);
  });

  test('is reported for following alone, and recovers when its logs are read and nothing is owed', async () => {
    const world = makeWorld([watch], { followedAt: NOW - 60_000 });
    await world.processWatches();
    Object.assign(world, { followedAt: NOW + 5_000, nowMs: NOW + 6_000, sight: { owedSince: NOW } });
    await world.processWatches();
    expect(world.events).toHaveLength(1);
    world.sight = { readAt: NOW + 6_000 };
    await world.processWatches();
    await world.processWatches();
    expect(world.events).toEqual(
      ['watch.stalled', 'watch.recovered'].map((type) => ({
        type,
        watchId: 'w',
        ...chainSince(NOW - 60_000),
      })),
    );
    expect(world.documents.get(watchKey(watch))).not.toHaveProperty('stalled');
  });
});
