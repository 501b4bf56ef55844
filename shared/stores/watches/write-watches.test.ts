import { setImmediate } from 'node:timers/promises';
import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Watch } from '#shared/contracts/watches/watch.ts';
import { ServiceError } from '#shared/errors.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { aWatch } from '../../../test/support/builders/a-watch.ts';
import { makeWatchWrites } from './write-watches.ts';

const { clientId, accountId, watchId, ...settings } = aWatch();
const WRITE = { clientId, accountId, watchId, actor: 'key_1' };
const LIMITS = { ruleSets: 1, watches: 1, watchMembers: 1, writesPerDay: 10 };

/** The writes of watches; the hold of a rule set fails `deletingCount` times because the set is
 * being deleted. */
function makeWorld(
  over: {
    ruleSet?: RuleSet;
    cached?: RuleSet;
    deletingCount?: number;
    failure?: ServiceError;
    stored?: Watch;
    /** The watch before the write that made it `stored`. */
    before?: Watch;
    writesLeft?: number;
    hasRoom?: boolean;
    /** How many reads find `stored` before the watcher has removed the members of its
     * predecessor. */
    readsToRemoval?: number;
  } = {},
) {
  let { deletingCount = 0, writesLeft = Infinity, readsToRemoval = Infinity, stored, before } = over;
  const world = {
    holds: 0,
    releases: 0,
    reads: 0,
    reading: 0,
    readsAtOnce: 0,
    sweeps: 0,
    slots: 0,
    published: [] as string[],
  };
  const writes = makeWatchWrites({
    ruleSets: {
      async hold() {
        if (deletingCount-- > 0) return undefined;
        world.holds += 1;
        return {
          async release() {
            world.releases += 1;
          },
        };
      },
      async read() {
        world.reads += 1;
        world.reading += 1;
        world.readsAtOnce = Math.max(world.readsAtOnce, world.reading);
        await setImmediate();
        world.reading -= 1;
        return over.ruleSet;
      },
    },
    ...(over.cached ? { ruleSetCache: { read: async () => over.cached } } : {}),
    watches: {
      read: async () => over.before ?? (stored?.deletedAt === undefined ? stored : undefined),
      documents: {
        async read() {
          if (before) {
            const first = before;
            before = undefined;
            return first;
          }
          if (stored && readsToRemoval-- < 1) {
            const { formerCreatedAt: _, ...rest } = stored;
            stored = rest;
          }
          return stored;
        },
        lease: async () => ({ version: 1, release: async () => undefined }),
        async project(watch) {
          stored = watch;
          return true;
        },
      },
    },
    members: {
      figures: async () => ({ members: 0, holders: new Map(), held: new Map(), sweeps: new Map() }),
      // Of 24, those with members.
      partitions: async () => [3, 7],
    },
    sweeps: {
      async bringForward() {
        world.sweeps += 1;
        world.published.push('sweep');
      },
    },
    followed: { follow: async () => undefined, states: async () => [] },
    slots: {
      async take() {
        world.slots += 1;
        return { release: async () => undefined };
      },
    },
    async requireRoom() {
      if (over.hasRoom === false) throw new ServiceError('bytes-exceeded', 'no more');
    },
    throttle: {
      async take() {
        if (writesLeft-- < 1) throw new ServiceError('rate-limited', 'no more');
      },
    },
    auditTrail: { record: async () => undefined },
    async publish({ name }) {
      if (over.failure) throw over.failure;
      world.published.push(name);
    },
    now: () => Date.UTC(2026, 10, 22),
  });
  return Object.assign(world, { writes });
}

afterEach(() => void jest.restoreAllMocks());

test('a watch waits while its rule set is being deleted, and is then refused', async () => {
  jest.spyOn(performance, 'now').mockReturnValue(0);
  const world = makeWorld({ deletingCount: 2 });
  await expect(world.writes.put(WRITE, settings)).rejects.toMatchObject({ code: 'rule-set-unknown' });
  expect([world.holds, world.releases]).toEqual([1, 1]);
});

test.each([
  ['is written', undefined, 1],
  ['is surely not written', 'broker-unavailable', 1],
  ['may be written later', 'publish-unknown', 0],
] as const)('the rule set of a watch that %s is held for as long as needed', async (_, code, releases) => {
  const ruleSet = aRuleSet(clientId, settings.ruleSet);
  const world = makeWorld({ ruleSet, ...(code ? { failure: new ServiceError(code, 'away') } : {}) });
  const put = world.writes.put(WRITE, settings).then(
    () => undefined,
    (error: ServiceError) => error.code,
  );
  expect(await put).toBe(code);
  expect([world.holds, world.releases]).toEqual([1, releases]);
});

test('the watches of a page read their rule sets from memory', async () => {
  const world = makeWorld({ cached: aRuleSet(clientId, settings.ruleSet) });
  await Promise.all(Array.from({ length: 200 }, () => world.writes.present(aWatch())));
  expect(world.reads).toBe(0);
});

test('a list of watches reads each of its rule sets once, a few at a time', async () => {
  const world = makeWorld({ ruleSet: aRuleSet(clientId, settings.ruleSet) });
  const watches = Array.from({ length: 200 }, (_, i) =>
    aWatch({ watchId: `w${i}`, ruleSet: `set-${i % 20}` }),
  );
  const presented = await world.writes.presentMany(watches);
  expect(presented.map((watch) => [watch['watchId'], watch['ruleSet']])).toEqual(
    watches.map((watch) => [watch.watchId, watch.ruleSet]),
  );
  expect([world.reads, world.readsAtOnce]).toEqual([20, 4]);
});

test('a sweep is not started where the precondition refuses it', async () => {
  const world = makeWorld({ stored: aWatch() });
  await expect(world.writes.check({ ...WRITE, mayWrite: () => false })).rejects.toMatchObject({
    code: 'version-conflict',
    message: `the watch ${watchId} is at version 1`,
  });
  expect(world.sweeps).toBe(0);
  expect(await world.writes.check(WRITE)).toMatchObject({ watchId });
  expect(world.sweeps).toBe(1);
});

test('a conditional write of a watch that does not exist is refused with version-conflict', async () => {
  const world = makeWorld({ ruleSet: aRuleSet(clientId, settings.ruleSet) });
  await expect(world.writes.put({ ...WRITE, mayWrite: () => false }, settings)).rejects.toMatchObject({
    code: 'version-conflict',
    message: `the watch ${watchId} does not exist`,
  });
});

const HELD = aWatch({
  held: [{ id: 'gold', holders: 3, revocations: 2, heldAt: '2026-11-22T00:00:00.000Z' }],
});

test('a release that is refused releases nothing', async () => {
  const limits = { ruleSets: 1, watches: 1, watchMembers: 1, writesPerDay: 1 };
  const stale = makeWorld({ stored: HELD });
  await expect(stale.writes.release({ ...WRITE, mayWrite: () => false })).rejects.toMatchObject({
    code: 'version-conflict',
  });
  const spent = makeWorld({ stored: HELD, writesLeft: 0 });
  await expect(spent.writes.release({ ...WRITE, limits })).rejects.toMatchObject({ code: 'rate-limited' });
  const full = makeWorld({ stored: HELD, hasRoom: false });
  await expect(full.writes.release({ ...WRITE, limits })).rejects.toMatchObject({ code: 'bytes-exceeded' });
  expect(full.published).toEqual([]);
  expect([stale.published, spent.published]).toEqual([[], []]);
  const last = makeWorld({ stored: HELD, writesLeft: 1 });
  expect(await last.writes.release({ ...WRITE, limits })).toMatchObject({ held: [] });
  expect(last.published.filter((name) => name === 'watch.evaluated.v1')).toHaveLength(2);
});

test('a release of a watch that holds nothing is answered with the watch, and writes nothing', async () => {
  const limits = { ruleSets: 1, watches: 1, watchMembers: 1, writesPerDay: 1 };
  const world = makeWorld({ stored: aWatch(), writesLeft: 0 });
  expect(await world.writes.release({ ...WRITE, limits })).toEqual(aWatch());
  expect(world.published).toEqual([]);
});

test('a write that changes nothing is answered with the watch, and costs no write of the day', async () => {
  const limits = { ruleSets: 1, watches: 1, watchMembers: 1, writesPerDay: 1 };
  const ruleSet = aRuleSet(clientId, settings.ruleSet);
  const world = makeWorld({ ruleSet, stored: aWatch(), writesLeft: 0 });
  const write = { ...WRITE, limits };
  expect(await world.writes.put(write, settings)).toEqual({ watch: aWatch(), isNew: false });
  expect(await world.writes.resume(write)).toEqual(aWatch());
  expect(world.published).toEqual(['sweep']);
  const changed = { ...settings, everySeconds: settings.everySeconds + 1 };
  await expect(world.writes.put(write, changed)).rejects.toMatchObject({ code: 'rate-limited' });
  const stale = { ...write, mayWrite: () => false };
  await expect(world.writes.put(stale, settings)).rejects.toMatchObject({ code: 'version-conflict' });
});

test('the sweep after a pause is due before the watch is active, so that no other one begins first', async () => {
  const world = makeWorld({
    stored: aWatch({ paused: { reason: 'requested', at: '2026-11-21T10:00:00.000Z' } }),
  });
  const resumed = await world.writes.resume(WRITE);
  expect(resumed.paused).toBeUndefined();
  expect(resumed.resumedAt).toBe(resumed.sweepAskedAt);
  expect(world.published).toEqual(['sweep', 'watch.v1', 'audit.v1']);
});

test('a watch that was deleted twice is made again only once the members of the first are removed', async () => {
  const at = '2026-11-21T10:00:00.000Z';
  const ruleSet = aRuleSet(clientId, settings.ruleSet);
  const twice = aWatch({ deletedAt: at, formerCreatedAt: at });
  const world = makeWorld({ ruleSet, stored: twice });
  await expect(world.writes.put({ ...WRITE, limits: LIMITS }, settings)).rejects.toMatchObject({
    code: 'overloaded',
  });
  expect([world.slots, world.published]).toEqual([0, []]);
  const once = makeWorld({ ruleSet, stored: aWatch({ deletedAt: at }) });
  expect(await once.writes.put(WRITE, settings)).toMatchObject({ isNew: true });
});

test('a watch that was deleted twice waits until the watcher has removed the first', async () => {
  jest.spyOn(performance, 'now').mockReturnValue(0);
  const createdAt = '2026-11-21T10:00:00.000Z';
  const ruleSet = aRuleSet(clientId, settings.ruleSet);
  const stored = aWatch({
    createdAt,
    deletedAt: '2026-11-21T11:00:00.000Z',
    formerCreatedAt: '2026-11-20T10:00:00.000Z',
  });
  const world = makeWorld({ ruleSet, stored, readsToRemoval: 3 });
  const { watch, isNew } = await world.writes.put(WRITE, settings);
  expect([isNew, watch.formerCreatedAt]).toEqual([true, createdAt]);
  const stale = makeWorld({ ruleSet, stored });
  await expect(stale.writes.put({ ...WRITE, mayWrite: () => false }, settings)).rejects.toMatchObject({
    code: 'version-conflict',
  });
});

test('a watch is made only with a slot, also where it is deleted while it is written', async () => {
  const ruleSet = aRuleSet(clientId, settings.ruleSet);
  const limits = LIMITS;
  const gone = aWatch({ deletedAt: '2026-11-21T10:00:00.000Z' });
  const racing = makeWorld({ ruleSet, before: aWatch({ everySeconds: 7_200 }), stored: gone });
  await expect(racing.writes.put({ ...WRITE, limits }, settings)).rejects.toMatchObject({
    code: 'overloaded',
  });
  expect([racing.slots, racing.published]).toEqual([0, []]);
  const again = makeWorld({ ruleSet, stored: gone });
  expect(await again.writes.put({ ...WRITE, limits }, settings)).toMatchObject({ isNew: true });
  expect(again.slots).toBe(1);
});
