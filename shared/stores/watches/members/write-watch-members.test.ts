import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import type { Watch, WatchMember } from '#shared/contracts/watches/watch.ts';
import { ServiceError } from '#shared/errors.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { WatchMembers } from './watch-members.ts';
import { makeChangeMembers } from './write-watch-members.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');
const WATCH: Watch = {
  clientId: 'app_1',
  watchId: 'vip',
  version: 1,
  settingsVersion: 1,
  accountId: 'acc_1',
  ruleSet: 'holders',
  callbackUrl: 'https://example.com/',
  everySeconds: 86_400,
  follow: true,
  blockTag: 'latest',
  explain: false,
  graceSeconds: 0,
  stalledAfterSeconds: 900,
  quotaShare: 0.5,
  massRevocation: { share: 0.2, atLeast: 20 },
  createdAt: '2026-11-22T11:00:00.000Z',
  updatedAt: '2026-11-22T11:00:00.000Z',
  held: [],
};
const WRITE = {
  watch: WATCH,
  actor: 'key_1',
  limits: appLimitsOf({ tier: 'free' }),
};
const ACCOUNT = '0x52908400098527886E0F7030069857D2E4169EE7';
const OTHER_ACCOUNT = '0x8617E340B3D01FA5F11F306F4090FD50E238070D';
const entries = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ account: ACCOUNT, ref: `m${i}` }));

/** Members of a page of the view: fewer than those of one command. */
const PAGE = 100;

/** A view in memory whose writes fail as told. */
function aView({
  failures = [] as (ServiceError | undefined)[],
  isThere = (): boolean => true,
  isMarked = true,
  restored = [] as WatchMember[],
} = {}) {
  const stored = new Map<string, WatchMember>();
  const published: WatchMember[] = [];
  const audited: string[] = [];
  const atOnce = { now: 0, max: 0 };
  const changeMembers = makeChangeMembers({
    watches: {
      readByUid: async () => (isThere() ? WATCH : undefined),
      async *pagesOf() {
        yield [WATCH];
      },
    },
    members: partially<WatchMembers>({
      readMany: async (_uid, ids) => ids.map((id) => stored.get(id)),
      async *readInPages(_uid, ids) {
        for (let at = 0; at < ids.length; at += PAGE)
          yield ids.slice(at, at + PAGE).map((id) => stored.get(id));
      },
      project: async (member) => restored.push(member) > 0,
      async write(_before, after) {
        atOnce.max = Math.max(atOnce.max, ++atOnce.now);
        await undefined;
        atOnce.now -= 1;
        const failure = failures.shift();
        if (failure) throw failure;
        stored.set(after.memberId, after);
        return true;
      },
      markSent: async () => isMarked,
      count: async () => stored.size,
      figures: async () => ({ members: stored.size, holders: new Map(), held: new Map(), sweeps: new Map() }),
      lock: async () => true,
      keepLock: async () => true,
      unlock: async () => undefined,
    }),
    requireRoom: async () => undefined,
    throttle: { take: async () => undefined },
    auditTrail: {
      record: async ({ actor, action, subject }) => void audited.push(`${actor} ${action} ${subject}`),
    },
    publish: async (topic, message) => {
      if (topic.name === 'watch-member.v1') published.push(message as WatchMember);
    },
    now: () => NOW,
  });
  return { changeMembers, stored, published, audited, atOnce };
}

const unavailable = () => new ServiceError('store-unavailable', 'Redis did not answer in time');

test('a change has one audit entry with its counts, however many members it names', async () => {
  const { changeMembers, audited } = aView();
  await changeMembers(WRITE, { add: entries(3), remove: [] });
  await changeMembers(WRITE, { add: [{ account: OTHER_ACCOUNT, ref: 'm0' }], remove: ['m2', 'nobody'] });
  expect(audited).toEqual([
    'key_1 watch-members-changed vip: 3 added, 0 replaced, 0 removed',
    'key_1 watch-members-changed vip: 0 added, 1 replaced, 1 removed',
  ]);
});

test('a member that is added again with the same wallets, also in another case, is not counted as replaced', async () => {
  const { changeMembers } = aView();
  await changeMembers(WRITE, { add: entries(3), remove: [] });
  const again = [
    { account: ACCOUNT, ref: 'm0' },
    { account: ACCOUNT.toLowerCase(), ref: 'm1' },
    { account: OTHER_ACCOUNT, ref: 'm2' },
  ];
  const counts = await changeMembers(WRITE, { add: again, remove: [] });
  expect(counts).toEqual({ added: 0, replaced: 1, removed: 0, members: 3 });
});

test('a member that gets other wallets loses the revocations that are held back: they were found for the old ones', async () => {
  const { changeMembers, stored } = aView();
  await changeMembers(WRITE, { add: entries(2), remove: [] });
  const since = '2026-11-22T11:30:00.000Z';
  const roles = [
    { id: 'held', granted: true, since, heldBack: { since, why: { cause: 'schedule' as const } } },
    { id: 'swept', granted: true, since, heldBack: { since, why: { cause: 'schedule' as const }, sweep: 7 } },
  ];
  for (const [id, member] of [...stored]) stored.set(id, { ...member, roles });
  await changeMembers(WRITE, {
    add: [{ account: OTHER_ACCOUNT, ref: 'm0' }, ...entries(2).slice(1)],
    remove: [],
  });
  expect(stored.get('m0')?.roles).toEqual(roles.map(({ heldBack: _, ...role }) => role));
  expect(stored.get('m1')?.roles).toEqual(roles);
});

test('other wallets are set at another time, also within one millisecond, and after a removal', async () => {
  const { changeMembers, stored } = aView();
  const add = (account: string) => changeMembers(WRITE, { add: [{ account, ref: 'm0' }], remove: [] });
  const times: (string | undefined)[] = [];
  for (const account of [ACCOUNT, OTHER_ACCOUNT, ACCOUNT]) {
    await add(account);
    times.push(stored.get('m0')?.walletsAt);
  }
  await changeMembers(WRITE, { add: [], remove: ['m0'] });
  await add(OTHER_ACCOUNT);
  times.push(stored.get('m0')?.walletsAt);
  expect(new Set(times).size).toBe(4);
  expect(stored.get('m0')?.owed).toMatchObject({ blocks: {}, why: { cause: 'schedule' } });
});

test('ten thousand members are written in commands of bounded size', async () => {
  const { changeMembers, stored, published, atOnce } = aView();
  const limits = { ...WRITE.limits, watchMembers: 10_000 };
  await changeMembers({ ...WRITE, limits }, { add: entries(10_000), remove: [] });
  expect([stored.size, published.length]).toEqual([10_000, 10_000]);
  expect(atOnce.max).toBe(PAGE);
});

test('a write that Redis does not answer is made again, and every member is published', async () => {
  const { changeMembers, published } = aView({ failures: [undefined, unavailable()] });
  const counts = await changeMembers(WRITE, { add: entries(3), remove: [] });
  expect(counts).toEqual({ added: 3, replaced: 0, removed: 0, members: 3 });
  expect(new Set(published.map(({ memberId }) => memberId))).toEqual(new Set(['m0', 'm1', 'm2']));
});

test('a failure after the first write says that some members may be changed', async () => {
  const { changeMembers } = aView({ failures: [undefined, new ServiceError('handler-failed', 'a bug')] });
  const change = changeMembers(WRITE, { add: entries(3), remove: [] });
  await expect(change).rejects.toMatchObject({ code: 'publish-unknown' });
});

test('a watch that is deleted while its members are received or written gets none from then on', async () => {
  const gone = aView({ isThere: () => false });
  const change = gone.changeMembers(WRITE, { add: entries(3), remove: [] });
  await expect(change).rejects.toMatchObject({ code: 'publish-unknown' });
  expect(gone.stored.size).toBe(0);
  let reads = 0;
  const going = aView({ isThere: () => ++reads === 1 });
  const longer = going.changeMembers(WRITE, { add: entries(300), remove: [] });
  await expect(longer).rejects.toMatchObject({ code: 'publish-unknown' });
  expect(going.stored.size).toBe(128);
});

test('a repeated request publishes the documents that the first one wrote and could not publish', async () => {
  const { changeMembers, published } = aView();
  await changeMembers(WRITE, { add: entries(1), remove: [] });
  published.length = 0;
  await changeMembers(WRITE, { add: entries(1), remove: [] });
  expect(published).toMatchObject([{ memberId: 'm0' }]);
});

test('the same wallet in lower case changes nothing, another wallet does', async () => {
  const { changeMembers, stored } = aView();
  const add = (account: string) => changeMembers(WRITE, { add: [{ account, ref: 'm0' }], remove: [] });
  await add(ACCOUNT);
  const first = stored.get('m0');
  await add(ACCOUNT.toLowerCase());
  expect(stored.get('m0')).toBe(first);
  await add(`0x${'11'.repeat(20)}`);
  expect(stored.get('m0')).toMatchObject({
    ...{ wallets: { account: `0x${'11'.repeat(20)}` }, version: NOW + 1 },
  });
});

test('a member that Redis has lost after its write is written again once it is published', async () => {
  const restored: WatchMember[] = [];
  const { changeMembers, stored, published } = aView({ isMarked: false, restored });
  await changeMembers(WRITE, { add: entries(1), remove: [] });
  expect([published, restored]).toEqual([[stored.get('m0')], [stored.get('m0')]]);
});
