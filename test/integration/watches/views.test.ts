import { randomUUID } from 'node:crypto';
import {
  partitionOfMember,
  partitionOfWatch,
  removedMember,
  type Watch,
  type WatchMember,
  watch,
  watchMember,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import { aboutWatchEventId } from '#shared/contracts/watches/watch-event.ts';
import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { makeThrottle } from '#shared/fairness/throttle.ts';
import { makeResults } from '#shared/stores/checks/results.ts';
import { makeUsageFigures } from '#shared/stores/usage/usage.ts';
import { makeWalletIndex, WALLETS_KEY } from '#shared/stores/watches/members/wallet-index.ts';
import { textOfName } from '#shared/stores/watches/members/watch-member-text.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { makeWatches } from '#shared/stores/watches/watches.ts';
import { makeWatchQuota } from '../../../services/watcher/members/watch-quota.ts';
import { aCheck, aMember, atSecond, aWatch } from '../../support/builders/a-watch.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';

// Scenario: the views of watches and members are in a database of a real Redis that only this file
// uses, and their topics are in a real Kafka. The tests check what the watcher, gateways and the
// reader of logs rely on.

const NOW = Date.parse(atSecond(1_000));
const HOUR_MS = 3_600_000;
const WALLET = `0x${'ab'.repeat(20)}`;

const stores = testStores(8);
let clientId: string;
const members = () => makeWatchMembers(stores.redis);
const wallets = () => makeWalletIndex(stores.redis);

/** A member of this test's app. */
const member = (memberId: string, over: Partial<WatchMember> = {}): WatchMember =>
  aMember({ watchUid: uidOf(), memberId, wallets: { account: WALLET }, ...over });
const uidOf = (over: Partial<Watch> = {}) => watchUid(aWatch({ clientId, ...over }));
const add = (one: WatchMember) => members().write(undefined, one, { isUnpublished: false });
const remove = (one: WatchMember) => {
  const gone = { ...removedMember(one, atSecond(2)), version: one.version + 1 };
  return members().write(one, gone, { isUnpublished: false });
};
const namesOf = async (wallet: string, ofWatchMax = 10) => {
  const pages = await Array.fromAsync(members().ofWallet(wallet, ofWatchMax));
  return pages.flat().map(textOfName).sort();
};
const nameOf = (one: WatchMember) => `${one.watchUid}/${one.memberId}`;

beforeEach(async () => {
  clientId = `app_${randomUUID()}`;
  await stores.redis.flushdb();
  await stores.replay();
});

describe('the members of a wallet', () => {
  test('are found in whatever watch they are, by ref or by account, until they are removed', async () => {
    const all = [
      member('alice'),
      member(WALLET),
      member('alice', { watchUid: uidOf({ watchId: 'other' }) }),
      member('r'.repeat(128), { watchUid: uidOf({ watchId: 'long' }) }),
      member('vault', {
        wallets: {
          account: `0x${'11'.repeat(20)}`,
          vaults: [WALLET.toUpperCase().replace('0X', '0x')],
        },
      }),
    ];
    for (const one of all) expect(await add(one)).toBe(true);
    expect(await namesOf(WALLET)).toEqual(all.map(nameOf).sort());
    expect(await wallets().watchedAmong([WALLET, `0x${'22'.repeat(20)}`])).toEqual(new Set([WALLET]));
    for (const one of all) await remove(one);
    expect(await namesOf(WALLET)).toEqual([]);
    expect(await wallets().watchedAmong([WALLET])).toEqual(new Set());
  });

  test('are found in pages, of each watch no more than asked for', async () => {
    const [redis, watches] = [stores.redis, 700];
    const uidOf = (index: number) => `${clientId}/watch-${index}/1`;
    const [crowded, ...others] = Array.from({ length: watches }, (_, index) => uidOf(index)) as [string];
    const names = [
      ...Array.from({ length: 5_000 }, (_, index) => `${crowded}/a/member/${index}`),
      ...others.flatMap((uid) => [`${uid}/${WALLET}`, `${uid}/b`, `${uid}~/c`]),
    ];
    const entries = names.flatMap((name) => [0, `${WALLET.slice(2)}/${name}`]);
    await redis.zadd(WALLETS_KEY, ...entries);
    const pages = await Array.fromAsync(members().ofWallet(WALLET, 3));
    const found = pages.flat().map(textOfName);
    expect(found.filter((name) => name.startsWith(`${crowded}/`))).toHaveLength(3);
    expect(found.filter((name) => !name.startsWith(`${crowded}/`)).sort()).toEqual(names.slice(5_000).sort());
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages.slice(1)) expect(page.length).toBeLessThan(1_010);
  });

  test('are those of the new watch if a watch was deleted and created again', async () => {
    const later = uidOf({ createdAt: atSecond(500) });
    const [former, present] = [member('alice'), member('alice', { watchUid: later })];
    await add(former);
    await remove(former);
    await members().forget(former.watchUid);
    await add(present);
    expect(await namesOf(WALLET)).toEqual([nameOf(present)]);
  });
});

const seenAt = (block: number) => ({ '1': { block, askedAt: NOW } });

test('a check without a change is recorded in the view, unless the member has changed since', async () => {
  const roles = [{ id: 'gold', granted: true, since: atSecond(1) }];
  const [alice, carol] = ['alice', 'carol'].map((id) =>
    member(id, { roles, sequence: 1, checked: aCheck(1, { seen: seenAt(5) }) }),
  ) as [WatchMember, WatchMember];
  for (const one of [alice, carol]) await add(one);
  const uid = uidOf();
  const changed = { ...carol, version: 9, sequence: 2 };
  await members().write(carol, changed, { dueAtMs: NOW });
  await members().setDue([{ watchUid: uid, memberId: 'alice' }], NOW);
  const checked = aCheck(50, { seen: seenAt(6) });
  for (const one of [alice, carol]) await members().refresh([{ ...one, checked }]);
  expect((await members().page(uid, { countMax: 10 })).members).toEqual([{ ...alice, checked }, changed]);
  const dueOf = (memberId: string) => members().due(partitionOfMember(uid, memberId), NOW, 10);
  expect(await dueOf('alice')).not.toContainEqual({ watchUid: uid, memberId: 'alice' });
  expect(await dueOf('carol')).toContainEqual({ watchUid: uid, memberId: 'carol' });
});

test('of many members only the newer ones are read, however large the others are', async () => {
  const roles = Array.from({ length: 100 }, (_, i) => ({
    ...{ id: `${i}`.padEnd(128, 'r'), granted: true, since: atSecond(1) },
  }));
  const all = Array.from({ length: 100 }, (_, i) => member(`m${i}`, { roles }));
  for (const one of all) await add(one);
  const newest = { ...member('m7', { roles, sequence: 1 }), version: 2 };
  await members().write(all[7], newest);
  const sentBytes = async () =>
    Number(/total_net_output_bytes:(\d+)/.exec(await stores.redis.info('stats'))?.[1]);
  const before = await sentBytes();
  const { readNewer } = members();
  const read = await Promise.all([...all, member('nobody')].map(readNewer));
  expect((await sentBytes()) - before).toBeLessThan(5 * JSON.stringify(roles).length);
  expect(read).toEqual([...all, undefined].map((_, i) => (i === 7 ? newest : undefined)));
});

describe('a page of members', () => {
  const pageOf = async (uid: string, countMax: number, after?: string) => {
    const { members: found, next } = await members().page(uid, { after, countMax });
    return [found.map(({ memberId }) => memberId), next];
  };

  test('has as many as are asked for, and says where the next one begins', async () => {
    const ids = ['alice', 'bob', 'carol', 'dave'];
    for (const id of ids) await add(member(id));
    const uid = uidOf();
    expect(await pageOf(uid, 3)).toEqual([['alice', 'bob', 'carol'], 'carol']);
    expect(await pageOf(uid, 3, 'carol')).toEqual([['dave'], undefined]);
    expect(await pageOf(uid, 4)).toEqual([ids, undefined]);
    expect(await pageOf(uid, 4, 'dave')).toEqual([[], undefined]);
    expect((await members().page(uid, { countMax: 1 })).members).toEqual([member('alice')]);
  });

  test('has fewer where they are large, together at most 1 MiB', async () => {
    const roles = Array.from({ length: 1_000 }, (_, i) => ({
      ...{ id: `${i}${'\u{1f511}'.repeat(124)}`, granted: true, since: atSecond(1) },
    }));
    for (const id of ['alice', 'bob', 'carol', 'dave']) await add(member(id, { roles }));
    const uid = uidOf();
    expect(await pageOf(uid, 4)).toEqual([['alice', 'bob'], 'bob']);
    expect(await pageOf(uid, 4, 'bob')).toEqual([['carol', 'dave'], undefined]);
  });
});

describe('many large members', () => {
  const LARGE = Array.from({ length: 1_000 }, (_, i) => ({
    ...{ id: `${i}${'\u{1f511}'.repeat(60)}`, granted: true, since: atSecond(1) },
  }));
  const uidOfAll = () => uidOf();
  /** Members of one partition, 250 KB each. */
  async function addLarge(countMax: number): Promise<string[]> {
    const ids = Array.from({ length: 24 * countMax }, (_, i) => `m${i}`)
      .filter((id) => partitionOfMember(uidOfAll(), id) === 0)
      .slice(0, countMax);
    for (const id of ids) await add(member(id, { roles: LARGE }));
    return ids;
  }

  test('are read in pages of about 1 MiB, in the order of their ids, a missing one in its place', async () => {
    const [first = '', ...others] = await addLarge(10);
    const asked = [first, 'nobody', ...others];
    const pages = await Array.fromAsync(members().readInPages(uidOfAll(), asked));
    expect(pages.flat().map((one) => one?.memberId)).toEqual([first, undefined, ...others]);
    for (const page of pages) expect(page.length).toBeLessThan(6);
  });

  test('are swept in pages of about 1 MiB, each member once', async () => {
    const ids = await addLarge(50);
    const pages = await Array.fromAsync(members().scan(uidOfAll(), 0));
    const found = pages.flat().map(({ memberId }) => memberId);
    expect(found.sort()).toEqual([...ids].sort());
    // The size is known after the first page. Redis may return some more than it is asked for.
    for (const [index, page] of pages.entries()) expect(page.length).toBeLessThan(index === 0 ? 45 : 25);
  });
});

test('a member whose event was marked as sent and that was refreshed since stays as it is if it is marked again', async () => {
  const one = member('alice', { sequence: 1, event: '{}' });
  await members().write(undefined, one);
  expect(await members().markSent(one)).toBe(true);
  const { event: _, ...sent } = one;
  const refreshed = { ...sent, checked: aCheck(9, { seen: seenAt(9) }) };
  await members().refresh([refreshed]);
  expect(await members().markSent(one)).toBe(true);
  expect(await members().readMany(one.watchUid, ['alice'])).toEqual([refreshed]);
});

test('a check that was noted while an event was being sent stays when the event is marked as sent', async () => {
  const event = '{"type":"roles.changed","before":","}';
  const owed = { since: atSecond(1), blocks: {}, why: { cause: 'schedule' as const } };
  for (const one of [member('alice', { event }), member('bob', { event, owed })]) {
    await members().write(undefined, one);
    const checked = aCheck(9, { seen: seenAt(9) });
    await members().refresh([{ ...one, checked }]);
    expect(await members().markSent(one)).toBe(true);
    const { event: _, ...sent } = one;
    expect(await members().readMany(one.watchUid, [one.memberId])).toEqual([{ ...sent, checked }]);
  }
});

test('a refund returns as many attempts as were counted, and never more than there are', async () => {
  const throttle = makeThrottle(stores.redis);
  const budget = { name: clientId, countMax: 100, windowMs: HOUR_MS };
  const draw = (count: number) => [{ budget, owner: 'app', count }];
  await throttle.take(draw(100));
  await throttle.refund(draw(60));
  await throttle.take(draw(60));
  await expect(throttle.take(draw(1))).rejects.toMatchObject({ code: 'rate-limited' });
  await throttle.refund(draw(500));
  await throttle.take(draw(100));
});

test('a wiped Redis gets every member back as it was, with the figures and the index', async () => {
  const roles = [
    {
      id: 'gold',
      granted: true,
      since: atSecond(1),
      heldBack: { since: atSecond(1), why: { cause: 'schedule' as const } },
    },
  ];
  const all = [member('alice', { roles, sequence: 3, checked: aCheck(1) }), member('bob')];
  await stores.kafka.publish(watch, aWatch({ clientId }));
  for (const one of all) await stores.kafka.publish(watchMember, one);
  await stores.redis.flushdb();
  await stores.replay();
  const uid = uidOf();
  expect((await members().page(uid, { countMax: 10 })).members).toEqual(all);
  expect(await members().figures(uid)).toEqual({
    ...{ members: 2, holders: new Map([['gold', 1]]), held: new Map([['gold', 1]]) },
    sweeps: new Map(),
  });
  expect(await namesOf(WALLET)).toEqual(all.map(nameOf).sort());
});

test('a wiped Redis gets the bodies of all webhooks back', async () => {
  const at = new Date().toISOString();
  const webhook = (requestId: string) => ({
    ...{
      requestId,
      clientId,
      accountId: 'acc_1',
      callbackUrl: 'https://client.example/hook',
      resultJson: `{"id":"${requestId}"}`,
    },
    ...{ acceptedAt: at, dueAt: at, retainUntil: new Date(Date.now() + HOUR_MS).toISOString() },
    ...{ attemptCount: 0, deferralCount: 0, resendCount: 0 },
  });
  const eventId = aboutWatchEventId('watch.held', clientId);
  const batchId = randomUUID();
  for (const id of [eventId, batchId]) await stores.kafka.publish(webhookRequested, webhook(id));
  await stores.redis.flushdb();
  await stores.replay();
  const results = makeResults(stores.redis);
  expect(await results.readMany([eventId, batchId])).toEqual([`{"id":"${eventId}"}`, `{"id":"${batchId}"}`]);
});

test('a uid names its own watch, and not a later one with the same id', async () => {
  const watches = makeWatches(stores.redis);
  const [former, present] = [
    aWatch({ clientId }),
    aWatch({ clientId, version: 2, createdAt: atSecond(500) }),
  ];
  await watches.project(former);
  expect(await watches.readByUid(watchUid(former))).toEqual(former);
  await watches.project(present);
  expect(await watches.readByUid(watchUid(former))).toBeUndefined();
  expect(await watches.readByUid(watchUid(present))).toEqual(present);
});

describe('a watch is due', () => {
  const watches = () => makeWatches(stores.redis);
  const claim = async (nowMs: number) => {
    const partition = partitionOfWatch(watchUid(aWatch({ clientId })));
    const claimed = await watches().claimDue(partition, nowMs, nowMs + 30_000, 10);
    return claimed.filter((one) => one.clientId === clientId).length;
  };

  test('when it is written, when it is requested, and half a minute after it was claimed', async () => {
    const one = aWatch({ clientId });
    await watches().project(one);
    expect(await claim(NOW)).toBe(1);
    expect(await claim(NOW + 29_999)).toBe(0);
    expect(await claim(NOW + 30_000)).toBe(1);
    await watches().setDue(watchUid(one), NOW + 40_000);
    await watches().setDue(watchUid(one), NOW + 50_000);
    expect(await claim(NOW + 39_999)).toBe(0);
    expect(await claim(NOW + 40_000)).toBe(1);
    await watches().project({ ...one, version: 2 });
    expect(await claim(NOW + 40_001)).toBe(1);
  });

  test('later where it was put off, unless it was due later already', async () => {
    const one = aWatch({ clientId });
    await watches().project(one);
    await claim(NOW);
    await watches().postpone(watchUid(one), NOW + 60_000);
    await watches().postpone(watchUid(one), NOW + 40_000);
    expect(await claim(NOW + 59_999)).toBe(0);
    expect(await claim(NOW + 60_000)).toBe(1);
  });

  test('when its rule set changes, when a sweep is requested, and when one has ended', async () => {
    const one = aWatch({ clientId });
    const sweeps = makeWatchSweeps(stores.redis);
    await watches().project(one);
    await claim(NOW);
    await watches().setUsersDue(clientId, one.ruleSet, NOW + 1);
    expect(await claim(NOW + 1)).toBe(1);
    await sweeps.bringForward(watchUid(one), NOW + 2);
    expect(await claim(NOW + 2)).toBe(1);
    await sweeps.end(watchUid(one), 7);
    expect(await claim(NOW + 3)).toBe(1);
    expect(await claim(NOW + 4)).toBe(0);
  });

  test('with every other watch of its partition, when changes may have been missed', async () => {
    const one = aWatch({ clientId });
    await watches().project(one);
    expect(await claim(NOW)).toBe(1);
    expect(await claim(NOW)).toBe(0);
    await watches().setAllDue(partitionOfWatch(watchUid(one)), NOW);
    expect(await claim(NOW)).toBe(1);
  });
});

test('a sweep knows the holders of every role, whatever the id of the role is', async () => {
  const sweeps = makeWatchSweeps(stores.redis);
  const uid = watchUid(aWatch({ clientId }));
  const holders = new Map([
    ['gold', 10],
    ['__proto__', 20],
    ['constructor', 30],
  ]);
  await sweeps.begin({ uid, sweep: NOW, kind: 'schedule', rules: 'set@1', holders }, NOW + 1);
  expect((await sweeps.read(uid))?.holders).toEqual(holders);
});

test('the oldest running sweep is known until it ends', async () => {
  const sweeps = makeWatchSweeps(stores.redis);
  const uid = watchUid(aWatch({ clientId }));
  const begun = { uid, sweep: 1, kind: 'schedule', rules: 'set@1', holders: new Map() } as const;
  await sweeps.begin(begun, NOW);
  expect(await sweeps.oldestAt()).toBe(1);
  await sweeps.end(uid, 1);
  expect(await sweeps.oldestAt()).not.toBe(1);
});

test('a sweep that goes on with another one keeps kind and start, and asks the partitions that it has not asked', async () => {
  const sweeps = makeWatchSweeps(stores.redis);
  const uid = uidOf();
  const holders = new Map([['gold', 3]]);
  for (const memberId of ['a', 'b', 'c']) await add(member(memberId));
  await sweeps.begin({ uid, sweep: NOW, kind: 'gap', rules: 'set@1', holders: new Map() }, NOW + 1);
  const [first = 0, ...left] = (await sweeps.read(uid))?.toAsk ?? [];
  await sweeps.addPart(uid, NOW, 'part');
  await sweeps.finish(uid, NOW, `ask/${first}`);
  await sweeps.decide(uid, NOW, { sweeps: [NOW], hold: [] });
  expect((await sweeps.read(uid))?.toSettle).toHaveLength(left.length + 1);
  // The second time it is not the running one any more.
  for (const start of [NOW + 9, NOW + 10]) await sweeps.beginRest(uid, NOW, { sweep: start, holders });
  expect(await sweeps.read(uid)).toEqual({
    ...{ uid, sweep: NOW + 9, since: NOW, kind: 'gap', rules: 'set@1', holders },
    ...{ decision: undefined, toAsk: expect.arrayContaining(left), partCount: 0, toSettle: [] },
  });
  await sweeps.beginRest(uid, NOW + 9, { sweep: NOW + 20, holders });
  expect(await sweeps.read(uid)).toMatchObject({ sweep: NOW + 20, since: NOW });
});

test('the begin of a sweep moves the due time if a sweep was due; otherwise, or if it cannot begin, the due time stays', async () => {
  const sweeps = makeWatchSweeps(stores.redis);
  const uid = watchUid(aWatch({ clientId }));
  await sweeps.bringForward(uid, NOW);
  const begin = async (sweep: number, nextAtMs: number) => {
    const of = { uid, sweep, kind: 'rule-set', rules: 'set@1', holders: new Map() } as const;
    return [await sweeps.begin(of, nextAtMs), (await sweeps.next(uid))?.atMs];
  };
  expect(await begin(NOW, NOW + 60_000)).toEqual([true, NOW + 60_000]);
  expect(await begin(NOW + 60_000, NOW + 70_000)).toEqual([false, NOW + 60_000]);
  await sweeps.end(uid, NOW);
  expect(await begin(NOW + 59_999, NOW + 70_000)).toEqual([true, NOW + 60_000]);
});

test('checks beyond the quota are not charged; already evaluated checks are charged up to the quota', async () => {
  const quota = makeWatchQuota(stores.redis);
  const charge = (count: number, areEvaluated: boolean, quotaShare = 0.5) =>
    quota.charge({
      clientId,
      accountId: 'acc_1',
      count,
      month: '2026-11',
      requestsPerMonth: 9,
      quotaShare,
      areEvaluated,
    });
  expect(await charge(3, false)).toBe('charged');
  // The share is 4.5 checks.
  expect(await charge(2, false)).toBe('quota-share-exceeded');
  expect(await charge(2, true)).toBe('quota-share-exceeded');
  expect(await charge(1, true)).toBe('quota-share-exceeded');
  expect(await charge(6, false, 1)).toBe('quota-exceeded');
  expect(await charge(5, false, 1)).toBe('charged');
});

test('a share of the quota that is a whole number of checks can be used up, although binary fractions round it', async () => {
  const quota = makeWatchQuota(stores.redis);
  const charge = (count: number) =>
    quota.charge({
      clientId,
      accountId: 'acc_1',
      count,
      month: '2026-11',
      requestsPerMonth: 100,
      quotaShare: 0.29,
    });
  expect(await charge(29)).toBe('charged');
  expect(await charge(1)).toBe('quota-share-exceeded');
});

test('the charges and refunds of watches are in the published totals of their app', async () => {
  const figures = makeUsageFigures(stores.redis);
  const totals = async () => {
    // The rebuild restores the totals of other suites' apps.
    const own = (await figures.listRecent(Date.now())).filter((appHour) => appHour.clientId === clientId);
    expect(own).toHaveLength(1);
    return own[0] && (await figures.read(own[0]));
  };
  const month = new Date().toISOString().slice(0, 7);
  const charge = { clientId, accountId: 'acc_1', month, count: 5, requestsPerMonth: 9, quotaShare: 1 };
  const quota = makeWatchQuota(stores.redis);
  await quota.charge(charge);
  expect(await totals()).toMatchObject({ clientId, monthTotal: 5 });
  await quota.refund({ clientId, month, count: 2, requestId: 'watch_1' });
  expect(await totals()).toMatchObject({ clientId, monthTotal: 3 });
});

describe('revocations of a role', () => {
  const bound = { share: 0.2, atLeast: 3 };
  const allow = (ids: readonly string[], nowMs: number, holders = 20, held = 0) =>
    members().mayRevoke('app/w/1', 'gold', ids, { nowMs, holders, held, ...bound });
  const ids = (from: number, count: number) => Array.from({ length: count }, (_, i) => `m${from + i}`);

  test('count together for one sliding hour, and from the threshold on the rest is held', async () => {
    // 20 holders: more than 4 revocations of an hour are too many.
    expect(await allow(ids(0, 3), NOW)).toEqual(new Set(ids(0, 3)));
    expect(await allow(ids(3, 3), NOW + HOUR_MS / 2, 17)).toEqual(new Set(['m3']));
    expect(await allow(ids(4, 2), NOW + HOUR_MS - 1, 16)).toEqual(new Set());
    // The first three are an hour old; the revocation that was allowed later still counts.
    expect(await allow(ids(4, 3), NOW + HOUR_MS + 1, 16)).toEqual(new Set(['m4', 'm5']));
    expect(await allow(ids(6, 1), NOW + HOUR_MS + 1, 14)).toEqual(new Set());
  });

  test('count together with those that are held', async () => {
    expect(await allow(ids(0, 3), NOW, 20, 3)).toEqual(new Set(['m0']));
    expect(await allow(ids(1, 1), NOW + HOUR_MS + 1, 19, 4)).toEqual(new Set());
    expect(await allow(ids(1, 1), NOW + HOUR_MS + 1, 19)).toEqual(new Set(['m1']));
  });

  test('count for an hour in the decision on a sweep, also after a wipe', async () => {
    const gold = { id: 'gold', since: atSecond(900), granted: false };
    const uid = uidOf();
    await members().noteRevoked(uid, 'gold', ['alice'], Date.parse(gold.since));
    await members().noteRevoked(uid, 'gold', ['alice'], Date.parse(gold.since));
    const atMs = Date.parse(gold.since);
    expect(await members().countRevoked(uid, 'gold', NOW)).toBe(1);
    await stores.redis.del(`wm-revoked:${uid}/gold`);
    await members().project(member('alice', { sequence: 2, roles: [gold] }), NOW);
    await members().project(member('bob', { sequence: 1, roles: [gold] }), NOW);
    expect(await members().countRevoked(uid, 'gold', NOW)).toBe(1);
    expect(await members().countRevoked(uid, 'gold', NOW, atMs - 1)).toBe(0);
    expect(await members().countRevoked(uid, 'gold', atMs + HOUR_MS)).toBe(0);
  });

  test('are not counted twice where a record is handled again', async () => {
    expect(await allow(ids(0, 4), NOW)).toEqual(new Set(ids(0, 4)));
    expect(await allow(ids(0, 4), NOW + 10)).toEqual(new Set(ids(0, 4)));
    expect(await allow(ids(4, 1), NOW + 20)).toEqual(new Set());
  });

  test('below the least count are sent, however large their share', async () => {
    expect(await allow(ids(0, 2), NOW, 2)).toEqual(new Set(ids(0, 2)));
    expect(await allow(ids(2, 1), NOW, 0)).toEqual(new Set());
  });
});
