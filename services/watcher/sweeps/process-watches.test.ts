import { rulesNameOf } from '#shared/contracts/rules/rule-set.ts';
import { type Watch, type WatchEvent, watchKey, watchUid } from '#shared/contracts/watches/watch.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { aWatch } from '../../../test/support/builders/a-watch.ts';
import { makeProcessWatch } from './process-watch.ts';
import { makeProcessWatches } from './process-watches.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');

function makeWorld(
  watches: readonly Watch[],
  over: {
    deletedApp?: string;
    failing?: string;
    members?: number;
    held?: number;
    /** The rules of a running sweep. */
    running?: string;
    /** When the oldest sweep of any watch began. */
    sweptAt?: number;
    memberDueAt?: number;
  } = {},
) {
  const documents = new Map(watches.map((watch) => [watchKey(watch), watch]));
  const world = {
    documents,
    begun: [] as { uid: string; cause: string }[],
    removed: [] as string[],
    due: [] as [string, number][],
    postpone: [] as [string, number][],
    allDue: [] as number[],
    events: [] as unknown[],
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
      async read(_: string, id: string) {
        if (id === over.failing) throw new Error('broken');
        return aRuleSet('app_1', id);
      },
    },
    clientApps: { read: async (id: string) => (id === over.deletedApp ? undefined : { clientId: id }) },
    members: {
      figures: async () => ({
        members: over.members ?? 1,
        holders: new Map([['gold', 10]]),
        held: new Map(over.held ? [['gold', over.held]] : []),
      }),
      forget: async () => undefined,
    },
    sweeps: {
      read: async () => over.running && { rules: over.running, sweep: NOW - 1_000 },
      begin: async (sweep: { uid: string; cause: string }) =>
        over.running === undefined && world.begun.push(sweep) > 0,
      nextAt: async () => undefined,
      bringForward: async () => undefined,
      oldestAt: async () => over.sweptAt,
      forget: async () => undefined,
    },
    followed: { follow: async () => undefined },
    removeMembers: async (watch: Watch) => void world.removed.push(watchUid(watch)),
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
    oldestDueAt: async () => over.memberDueAt,
    now: () => NOW,
  } as unknown as Parameters<typeof makeProcessWatch>[0] & Parameters<typeof makeProcessWatches>[0];
  const { announceHeld, noteSwept, processWatch } = makeProcessWatch(deps);
  return Object.assign(world, { announceHeld, noteSwept }, makeProcessWatches({ ...deps, processWatch }));
}

const of = (watchId: string, over: Partial<Watch> = {}) => aWatch({ watchId, ...over });

test('a new version of the rule set starts a sweep in the next round, once', async () => {
  const world = makeWorld([of('w', { sweptRules: 'old@1' })]);
  await world.processWatches();
  await world.processWatches();
  expect(world.begun).toMatchObject([{ uid: watchUid(of('w')), cause: 'rule-set' }]);
});

test('a sweep for new rules that began before a crash is not repeated', async () => {
  const rules = rulesNameOf(aRuleSet('app_1', of('w').ruleSet));
  const world = makeWorld([of('w', { sweptRules: 'old@1' })], { running: rules });
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
  expect(lost.begun).toMatchObject([{ uid: watchUid(asked), cause: 'schedule' }]);
  const running = makeWorld([asked], { running: sweptRules });
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
