import { type Watch, type WatchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import type { CheckCause } from '#shared/contracts/watches/watch-check.ts';
import { ServiceError } from '#shared/errors.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { aCheck, aMember, atSecond, aWatch } from '../../../test/support/builders/a-watch.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ChecksToRequest } from '../stores.ts';
import { makeCheckDue } from './check-due.ts';

const seen = (memberId: string, over: Partial<WatchMember> = {}) =>
  aMember({ memberId, checked: aCheck(1), ...over });

const owed = (cause: CheckCause, blocks: Record<string, number>, second = 99) => ({
  owed: { since: atSecond(second), why: { cause }, blocks },
});

const BY_TRANSFER = { cause: 'transfer' } as const;

type World = {
  readonly postpone?: (memberIds: string[], atMs: number) => void;
  readonly dropDue?: (memberIds: string[], atMs: number) => void;
  readonly watch?: Watch | undefined;
  /** Whether too many parts of the client app wait for their results. */
  readonly isFull?: boolean;
  /** Whether the account has used up its checks of members that are owed one. */
  readonly isBudgetUsed?: boolean;
  /** The block that following has reached. */
  readonly reached?: number;
  /** A watch with a due member that cannot be read. */
  readonly failingUid?: string;
  readonly failure?: Error;
  /** The requested checks, also if something failed. */
  readonly asked?: ChecksToRequest[];
  /** Those that are due; by default the members. */
  readonly dueIds?: readonly string[];
};

async function askedFor(members: readonly WatchMember[], world: World = {}): Promise<ChecksToRequest[]> {
  const { postpone, dropDue, dueIds = members.map(({ memberId }) => memberId) } = world;
  const watch = 'watch' in world ? world.watch : aWatch();
  const idsIn = (names: { memberId: string }[]) => names.map(({ memberId }) => memberId);
  const { failingUid, asked = [] } = world;
  let nowMs = Date.parse(atSecond(100));
  const checkDue = makeCheckDue({
    watches: { readByUid: async () => watch },
    ruleSets: {
      read: async () =>
        aRuleSet('app_1', 'set', {
          rules: [{ type: 'ERC20', chainId: 1, contractAddress: `0x${'cc'.repeat(20)}`, roleId: 'gold' }],
        }),
    },
    members: {
      due: async () => [
        ...(failingUid ? [{ watchUid: failingUid, memberId: 'any' }] : []),
        ...dueIds.map((memberId) => ({ watchUid: 'app_1/w/1', memberId })),
      ],
      postpone: async (names: { memberId: string }[], atMs: number) => postpone?.(idsIn(names), atMs),
      dropDue: async (_: number, names: { memberId: string }[], atMs: number) =>
        dropDue?.(idsIn(names), atMs),
      async *readInPages(uid: string) {
        if (uid === failingUid) throw world.failure;
        yield dueIds.map((memberId) => members.find((member) => member.memberId === memberId));
      },
    },
    async requestChecks(checks: ChecksToRequest) {
      if (world.isFull) return checks.members;
      asked.push(checks);
      return [];
    },
    positions: { reach: async () => ({ reached: world.reached }) },
    throttle: {
      async take() {
        if (world.isBudgetUsed) throw new ServiceError('rate-limited', 'used');
      },
    },
    partitions: [0, 1],
    isOwned: (partition: number) => partition === 0,
    // Every look at the clock shows a later time.
    now: () => nowMs++,
  } as unknown as Dependencies);
  await checkDue();
  return asked;
}

const idsOf = ({ members }: ChecksToRequest) => members.map(({ memberId }) => memberId);

test('members are asked for the blocks that they are owed, by cause, and are charged for an event alone', async () => {
  const asked = await askedFor([
    seen('unread', owed('schedule', { '1': 0 })),
    seen('transferred', owed('transfer', { '1': 7, '10': 3 })),
    seen('transferred too', owed('transfer', { '1': 9 })),
    seen('by new rules', owed('rule-set', { '1': 4 })),
  ]);
  expect(asked.map((each) => [idsOf(each), each.why.cause, each.isCharged, each.owed])).toEqual([
    [['unread'], 'schedule', false, { '1': 0 }],
    [['transferred', 'transferred too'], 'transfer', false, { '1': 9, '10': 3 }],
    [['by new rules'], 'rule-set', false, { '1': 4 }],
  ]);
});

test('a first check reads the block that following has reached, or a later one, and is charged', async () => {
  const asked = await askedFor([aMember({ memberId: 'new' })], { reached: 12 });
  expect(asked).toMatchObject([{ why: { cause: 'schedule' }, isCharged: true, owed: { '1': 12 } }]);
});

test('a block above what following has reached is not asked for: the chain began anew, or a fork was dropped', async () => {
  const members = [
    seen('above', owed('transfer', { '1': 265, '10': 3 })),
    seen('below', owed('rule-set', { '1': 70 })),
  ];
  const asked = await askedFor(members, { reached: 73 });
  expect(asked.map((each) => each.owed)).toEqual([{ '1': 73, '10': 3 }, { '1': 70 }]);
});

test('a block that was not reached for ten minutes is not asked for any more: its number may be false', async () => {
  const old = owed('transfer', { '1': 1_000_000 }, 100 - 600);
  expect(await askedFor([seen('false', old)])).toMatchObject([{ why: { cause: 'transfer' }, owed: {} }]);
});

test('a revocation whose grace is over is looked at behind the blocks that its member has seen', async () => {
  const roleUntil = (second: number) => ({
    roles: [
      {
        ...{ id: 'gold', granted: true, since: atSecond(1) },
        heldBack: { since: atSecond(1), why: BY_TRANSFER, graceUntil: atSecond(second) },
      },
    ],
    checked: aCheck(1, { seen: { '1': { block: 7, askedAt: 0 } } }),
  });
  expect(await askedFor([seen('over', roleUntil(100))])).toMatchObject([
    { isCharged: false, owed: { '1': 8 } },
  ]);
  expect(await askedFor([seen('not yet', roleUntil(101))])).toMatchObject([{ owed: {} }]);
});

test('a revocation is looked at again by other endpoints than those that answered the first check', async () => {
  const pending = (id: string, answeredBy: Record<string, string[]>) => ({
    ...{ id, granted: true, since: atSecond(1) },
    heldBack: {
      ...{ since: atSecond(1), why: BY_TRANSFER, graceUntil: atSecond(100) },
      answeredBy,
    },
  });
  const members = [
    seen('both', { roles: [pending('gold', { '1': ['0'] }), pending('vip', { '1': ['1'], '10': ['0'] })] }),
    seen('one', { roles: [pending('gold', { '1': ['0'] })] }),
    seen('another', { roles: [pending('gold', { '1': ['0'] })] }),
    seen('none'),
  ];
  expect(await askedFor(members)).toMatchObject([
    { avoid: { '1': ['0', '1'], '10': ['0'] } },
    { avoid: { '1': ['0'] } },
    { avoid: undefined },
  ]);
});

test('a check of a new member is requested again at doubling intervals while its answer is slow', async () => {
  const calls: [string[], number][] = [];
  const members = [
    aMember({ memberId: 'recent', walletsAt: atSecond(99) }),
    aMember({ memberId: 'waiting', walletsAt: atSecond(20) }),
    seen('unread', { walletsAt: atSecond(0) }),
  ];
  await askedFor(members, { postpone: (memberIds, atMs) => calls.push([memberIds, atMs]) });
  expect(calls).toEqual([
    [['recent', 'waiting', 'unread'], Date.parse(atSecond(160))],
    [['waiting'], Date.parse(atSecond(180))],
  ]);
});

test.each<[string, Watch | undefined, string[]]>([
  ['a watch that is gone', undefined, ['alice', 'bob']],
  ['a paused watch', aWatch({ paused: { reason: 'requested', at: atSecond(1) } }), ['alice', 'bob']],
  ['an active watch, if they were removed', aWatch(), ['bob']],
])('members of %s are not due any more', async (_, watch, dropped) => {
  const calls: [string[], number][] = [];
  const dropDue = (memberIds: string[], atMs: number) => void calls.push([memberIds, atMs]);
  await askedFor([aMember({ memberId: 'alice' })], { watch, dueIds: ['alice', 'bob'], dropDue });
  expect(calls).toEqual([[dropped, Date.parse(atSecond(160))]]);
});

test('while too many parts of a client app wait for their results, its due members stay due', async () => {
  const dropped: string[][] = [];
  const members = [aMember({ memberId: 'new' }), seen('unread')];
  const asked = await askedFor(members, { isFull: true, dropDue: (memberIds) => dropped.push(memberIds) });
  expect([asked, dropped]).toEqual([[], []]);
});

test('a watch whose members cannot be read does not keep others from being checked, and the failure is reported', async () => {
  const failure = new ServiceError('store-unavailable', 'slow');
  const asked: ChecksToRequest[] = [];
  await expect(askedFor([seen('unread')], { failingUid: 'app_2/w/1', failure, asked })).rejects.toBe(failure);
  expect(asked.map(idsOf)).toEqual([['unread']]);
});

test('members that are owed a check wait once their account has used up its free checks; new ones do not', async () => {
  const calls: [string[], number][] = [];
  const members = [seen('unread', owed('schedule', { '1': 0 })), aMember({ memberId: 'new' })];
  const postpone = (memberIds: string[], atMs: number) => void calls.push([memberIds, atMs]);
  const asked = await askedFor(members, { isBudgetUsed: true, postpone });
  expect(asked.map(idsOf)).toEqual([['new']]);
  expect(calls).toContainEqual([['unread'], Date.parse(atSecond(700))]);
});

/** A system in which one member of each watch is due, and a request of checks ends when the test says. */
function aSystem(watches: readonly Watch[]) {
  const due = watches.map((watch) => ({ watchUid: watchUid(watch), memberId: 'm' }));
  const byUid = new Map(watches.map((watch) => [watchUid(watch), watch]));
  const begun: string[] = [];
  const open: (() => void)[] = [];
  let isEnding = false;
  const checkDue = makeCheckDue({
    watches: { readByUid: async (uid: string) => byUid.get(uid) },
    ruleSets: { read: async () => aRuleSet('app_1', 'set') },
    members: {
      due: async (_: number, __: number, countMax: number) => due.splice(0, countMax),
      postpone: async () => undefined,
      async *readInPages(watchUid: string) {
        yield [aMember({ watchUid, memberId: 'm' })];
      },
    },
    requestChecks({ watch }: ChecksToRequest) {
      begun.push(watch.accountId);
      if (isEnding) return Promise.resolve([]);
      return new Promise((resolve) => open.push(() => resolve([])));
    },
    positions: { reach: async () => ({ reached: undefined }) },
    partitions: [0],
    isOwned: () => true,
    now: () => 0,
  } as unknown as Dependencies);
  return {
    begun,
    checkDue,
    makeDue(watch: Watch) {
      byUid.set(watchUid(watch), watch);
      due.push({ watchUid: watchUid(watch), memberId: 'm' });
    },
    endOne: () => open.shift()?.(),
    endAll() {
      isEnding = true;
      for (const end of open) end();
    },
  };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
const ofAccount = (accountId: string, index: number) =>
  aWatch({ accountId, clientId: `${accountId}-${index % 500}`, watchId: `w${index}` });

test('a member that becomes due behind 4 000 watches of another account is checked by the next turn, at most 16 watches at once', async () => {
  const system = aSystem(Array.from({ length: 4_000 }, (_, i) => ofAccount('greedy', i)));
  const rounds: Promise<void>[] = [];
  for (let i = 0; i < 4; i++) {
    rounds.push(system.checkDue());
    await settle();
  }
  expect(system.begun).toHaveLength(16);
  system.makeDue(ofAccount('victim', 0));
  const last = system.checkDue();
  await settle();
  expect(system.begun).toEqual(Array(16).fill('greedy'));
  system.endOne();
  system.endOne();
  await settle();
  expect(system.begun.slice(16).toSorted()).toEqual(['greedy', 'victim']);
  system.endAll();
  await Promise.all([...rounds, last]);
  expect(system.begun).toHaveLength(4_001);
});
