import fc from 'fast-check';
import type { RuleFault } from '#shared/contracts/result.ts';
import type { WatchMember } from '#shared/contracts/watch.ts';
import { applyCheck, type MemberEvent, releaseHeld, revocationsOf, settleSweep } from './apply-check.ts';
import type { MemberCheck } from './judge-age.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 10, 22, 10, 0, second)).toISOString();

const aMember = (over: Partial<WatchMember> = {}): WatchMember => ({
  clientId: 'app_1',
  watchId: 'w',
  watchCreatedAt: at(0),
  memberId: '0x00000000000000000000000000000000000000aa',
  version: 1,
  account: '0x00000000000000000000000000000000000000AA',
  addedAt: at(0),
  walletsAt: at(0),
  sequence: 0,
  roles: [],
  blockNumbers: {},
  errors: [],
  ...over,
});

type Verdicts = Record<string, boolean | undefined>;
const aCheck = (block: number, verdicts: Verdicts, over: Partial<MemberCheck> = {}): MemberCheck => ({
  cause: 'schedule',
  accounts: ['0x00000000000000000000000000000000000000aa'],
  verdicts: new Map(Object.entries(verdicts)),
  blockNumbers: { '1': block },
  errors: [],
  evaluatedAt: at(block),
  askedAt: at(block),
  rules: 'set@1',
  ...over,
});

const UNREAD: RuleFault = {
  ...{ ruleIndex: 0, roleId: 'gold', chainId: 1 },
  ...{ code: 'rpc-unavailable', message: 'no endpoint answered', retryable: true },
};

const holder = (): WatchMember => applyCheck(aMember(), aCheck(1, { gold: true, vip: false })).member;
const settle = (member: WatchMember, sweep: number, hold: readonly string[] = []) =>
  settleSweep(member, { sweep, cause: 'schedule', holdRoles: new Set(hold), at: at(50) });

test('the event of the first decided check has every decided role, without a previous verdict', () => {
  const { member, event } = applyCheck(aMember(), aCheck(1, { gold: true, vip: undefined, none: false }));
  expect(event).toEqual({
    cause: 'first',
    sequence: 1,
    changes: [
      { id: 'gold', granted: true, before: null },
      { id: 'none', granted: false, before: null },
    ],
  });
  expect(member.roles.map(({ id }) => id)).toEqual(['gold', 'none']);
});

test('a member has no event if none of its rules could be read', () => {
  const { member, event } = applyCheck(aMember(), aCheck(1, { gold: undefined }));
  expect(event).toBeUndefined();
  expect(member).toMatchObject({ sequence: 0, roles: [], checkedAt: at(1) });
});

test('a role that cannot be read keeps its last verdict', () => {
  const { member, event } = applyCheck(holder(), aCheck(2, { gold: undefined, vip: undefined }));
  expect(event).toBeUndefined();
  expect(member.roles).toEqual(holder().roles);
});

test('an event lists changed roles first and the others with their former verdict', () => {
  const { event } = applyCheck(holder(), aCheck(2, { gold: true, vip: true }));
  expect(event).toEqual({
    cause: 'schedule',
    sequence: 2,
    changes: [
      { id: 'vip', granted: true, before: false },
      { id: 'gold', granted: true, before: true },
    ],
  });
});

test('a role that was removed from the rule set is dropped without an event', () => {
  const { member, event } = applyCheck(holder(), aCheck(2, { vip: false }, { rules: 'set@2' }));
  expect(event).toBeUndefined();
  expect(member.roles.map(({ id }) => id)).toEqual(['vip']);
});

test.each<[string, Partial<MemberCheck>]>([
  ['of an older block', { blockNumbers: { '1': 0 } }],
  ['that was requested before the wallets were replaced', { askedAt: '2026-11-22T09:00:00.000Z' }],
  ['of other wallets', { accounts: ['0x00000000000000000000000000000000000000bb'] }],
  ['of an older version of the rule set', { rules: 'set@0', askedAt: at(0) }],
])('a check %s changes nothing', (_, over) => {
  const before = holder();
  expect(applyCheck(before, aCheck(2, { gold: false, vip: false }, over))).toEqual({
    member: before,
    revoked: [],
  });
});

/** Read at `number`, from a head that was requested at `second`. */
const aRead = (number: number, second: number, gold: boolean | undefined, over: Partial<MemberCheck> = {}) =>
  aCheck(
    second,
    { gold },
    { blockNumbers: { '1': number }, headTimes: { '1': Date.parse(at(second)) }, ...over },
  );
const later = (member: WatchMember, ...checks: MemberCheck[]) =>
  checks.reduce((before, check) => applyCheck(before, check).member, member);

test('a late answer of a dropped fork with a higher block overwrites nothing, and has the member checked again', () => {
  const newer = later(aMember(), aRead(103, 20, true));
  // It read block 105 of the dropped fork before that, and was evaluated after it.
  const late = aRead(105, 10, false, { evaluatedAt: at(30) });
  expect(applyCheck(newer, late)).toEqual({ member: newer, revoked: [], isToRecheck: true });
  expect(revocationsOf(newer, late)).toEqual([]);
  const again = applyCheck(newer, aRead(104, 31, false));
  expect(again.event?.changes).toEqual([{ id: 'gold', granted: false, before: true }]);
});

test('the first check under another block tag counts although its block is lower, and late answers of the old tag do not', () => {
  const latest = later(aMember(), aRead(105, 20, true));
  const safe = { rules: 'set@1 safe' };
  const first = applyCheck(latest, aRead(95, 30, false, safe));
  expect(first.event?.changes).toEqual([{ id: 'gold', granted: false, before: true }]);
  expect(first.member.blockNumbers).toEqual({ '1': 95 });
  const ofOldTag = aRead(106, 35, true, { askedAt: at(25) });
  const lower = aRead(94, 36, true, safe);
  for (const late of [ofOldTag, lower])
    expect(applyCheck(first.member, late)).toEqual({ member: first.member, revoked: [] });
});

test('a chain that the first check under another block tag could not read is read at a lower block later', () => {
  const latest = later(aMember(), aRead(105, 20, true));
  const safe = { rules: 'set@1 safe' };
  const unread = later(latest, aRead(0, 30, undefined, { ...safe, blockNumbers: {}, headTimes: {} }));
  expect(unread.blockNumbers).toEqual({});
  expect(applyCheck(unread, aRead(95, 40, false, safe)).event).toBeDefined();
});

describe('a check that an endpoint answered at a lower block of one chain', () => {
  const known = () => later(aMember(), aRead(104, 20, true, { blockNumbers: { '1': 104, '10': 2_000 } }));
  const behind = (gold: boolean | undefined, over: Partial<MemberCheck> = {}) =>
    aRead(0, 30, gold, { blockNumbers: { '1': 105, '10': 1_999 }, ...over });
  const TRANSFER = { cause: 'transfer', minBlock: { '1': 105 } } as const;

  test('has the member checked again for the transfer that no check has read, at its block or later', () => {
    const { member, event, isToRecheck } = applyCheck(known(), behind(false, TRANSFER));
    expect([event, isToRecheck, member.awaitedBlocks, member.unreadSince]).toEqual([
      undefined,
      true,
      { '1': 105 },
      at(30),
    ]);
    const read = applyCheck(
      member,
      aRead(0, 40, false, { ...TRANSFER, blockNumbers: { '1': 106, '10': 2_001 } }),
    );
    expect([read.event?.cause, read.member.awaitedBlocks, read.member.unreadSince]).toEqual([
      'transfer',
      undefined,
      undefined,
    ]);
  });

  test('keeps the time since when the endpoint has lagged behind, until another transfer comes', () => {
    const { member } = applyCheck(known(), behind(false, TRANSFER));
    const again = applyCheck(member, behind(false, { ...TRANSFER, evaluatedAt: at(35) }));
    const next = behind(false, { cause: 'transfer', minBlock: { '1': 106 }, evaluatedAt: at(40) });
    expect([again, applyCheck(again.member, next)]).toMatchObject([
      { isToRecheck: true, member: { unreadSince: at(30), awaitedBlocks: { '1': 105 } } },
      { isToRecheck: true, member: { unreadSince: at(40), awaitedBlocks: { '1': 106 } } },
    ]);
  });

  test('has the member checked again by new rules, and for a role that the later check could not read', () => {
    const { isToRecheck } = applyCheck(known(), behind(false, { rules: 'set@2' }));
    const unread = later(
      known(),
      aRead(0, 25, undefined, { blockNumbers: { '1': 106 }, errors: [UNREAD], sweep: 1 }),
    );
    expect([isToRecheck, applyCheck(unread, behind(false)).isToRecheck]).toEqual([true, true]);
  });

  test('changes nothing if a later check has read what it was requested for, or if it says nothing new', () => {
    const member = known();
    for (const check of [
      behind(false),
      behind(false, { ...TRANSFER, minBlock: { '1': 104 } }),
      behind(true, TRANSFER),
      behind(false, { ...TRANSFER, askedAt: at(-1) }),
    ])
      expect(applyCheck(member, check)).toEqual({ member, revoked: [] });
  });
});

test('a contradicted check of a transfer has the member checked again at the block of the transfer or later', () => {
  const newer = later(aMember(), aRead(103, 20, true));
  const late = aRead(105, 10, false, { cause: 'transfer', minBlock: { '1': 105 } });
  expect(applyCheck(newer, late).member.awaitedBlocks).toEqual({ '1': 105 });
});

test('a late answer with a higher block and no news makes no member due again', () => {
  const newer = later(aMember(), aRead(103, 20, true));
  expect(applyCheck(newer, aRead(105, 10, true))).toEqual({ member: newer, revoked: [] });
  expect(applyCheck(newer, aRead(105, 10, undefined))).toEqual({ member: newer, revoked: [] });
});

test('an answer of a newer head counts whenever it was evaluated', () => {
  const older = later(aMember(), aRead(100, 10, true, { evaluatedAt: at(40) }));
  const newer = aRead(101, 12, false, { askedAt: at(11), evaluatedAt: at(30), cause: 'transfer' });
  expect(applyCheck(older, newer).event?.changes).toMatchObject([{ id: 'gold', granted: false }]);
});

test('the last head decides in any order of answers, if members that are due again are checked', () => {
  const truth = fc.array(fc.record({ number: fc.nat(5), granted: fc.boolean() }), { minLength: 1 });
  fc.assert(
    fc.property(truth, fc.infiniteStream(fc.nat()), (heads, picks) => {
      const waiting = heads.map(({ number, granted }, index) => aRead(100 + number, index + 1, granted));
      let member = aMember();
      let isDue = false;
      while (waiting.length > 0) {
        const [check] = waiting.splice(picks.next().value % waiting.length, 1);
        if (!check) break;
        const applied = applyCheck(member, check);
        isDue ||= applied.isToRecheck ?? false;
        member = applied.member;
      }
      const last = heads.at(-1);
      const highest = Math.max(...heads.map(({ number }) => number));
      // A head that is not below the others is the truth; the answers to lower ones wait for the chain to grow.
      if (last === undefined || last.number < highest) return;
      const recheck = aRead(106, heads.length + 2, last.granted);
      if (isDue) member = applyCheck(member, recheck).member;
      expect(member.roles).toMatchObject([{ id: 'gold', granted: last.granted }]);
    }),
  );
});

test('the block of a transfer that could not be read is awaited until a check reads it', () => {
  const transfer = aRead(0, 10, undefined, {
    ...{ cause: 'transfer', minBlock: { '1': 101 }, blockNumbers: {}, headTimes: {} },
    errors: [UNREAD],
  });
  const unread = later(holder(), transfer);
  expect(unread).toMatchObject({ awaitedBlocks: { '1': 101 }, unreadSince: at(10) });
  // An endpoint that lags answers: the member stays due.
  const behind = later(unread, aRead(100, 20, true));
  expect(behind).toMatchObject({ awaitedBlocks: { '1': 101 }, unreadSince: at(10) });
  const read = later(behind, aRead(101, 30, true));
  expect(read.awaitedBlocks ?? read.unreadSince).toBeUndefined();
});

test('an unread transfer starts over, and its retries do not', () => {
  const transfer = (second: number, block: number) =>
    aRead(0, second, undefined, {
      ...{ cause: 'transfer', minBlock: { '1': block }, blockNumbers: {}, headTimes: {} },
      errors: [UNREAD],
    });
  expect(later(holder(), transfer(10, 101), transfer(20, 101)).unreadSince).toBe(at(10));
  expect(later(holder(), transfer(10, 101), transfer(20, 102)).unreadSince).toBe(at(20));
});

test('a check after a reorg counts although its block is lower, and an earlier one does not count any more', () => {
  const far = applyCheck(aMember(), aCheck(10, { gold: true })).member;
  const reorged = applyCheck(
    far,
    aCheck(9, { gold: false }, { reorgFrom: { '1': 8 }, evaluatedAt: at(20), cause: 'transfer' }),
  );
  expect(reorged.event?.changes).toEqual([{ id: 'gold', granted: false, before: true }]);
  expect(applyCheck(reorged.member, aCheck(11, { gold: true })).event).toBeUndefined();
  expect(applyCheck(reorged.member, aCheck(21, { gold: true })).event?.sequence).toBe(3);
});

test('a revocation that a sweep finds is sent when the sweep ends', () => {
  const found = applyCheck(holder(), aCheck(2, { gold: false, vip: true }, { sweep: 7 }));
  expect(found.event?.changes).toEqual([
    { id: 'vip', granted: true, before: false },
    { id: 'gold', granted: true, before: true },
  ]);
  expect(settle(found.member, 6).event).toBeUndefined();
  const settled = settle(found.member, 7);
  expect(settled.event).toEqual({
    cause: 'schedule',
    sequence: 3,
    changes: [
      { id: 'gold', granted: false, before: true },
      { id: 'vip', granted: true, before: true },
    ],
  });
  expect(settled.revoked).toEqual(['gold']);
  expect(settle(settled.member, 7).event).toBeUndefined();
});

test('a held revocation is sent by a release alone, and dropped when a check grants the role again', () => {
  const found = applyCheck(holder(), aCheck(2, { gold: false, vip: false }, { sweep: 7 })).member;
  const held = settle(found, 7, ['gold']).member;
  const again = applyCheck(held, aCheck(3, { gold: false, vip: false }, { sweep: 8 })).member;
  expect(settle(again, 8).event).toBeUndefined();
  expect(releaseHeld(again, at(60)).event).toMatchObject({ cause: 'release', sequence: 2 });
  const dropped = applyCheck(again, aCheck(4, { gold: true, vip: false }, { sweep: 9 }));
  expect(dropped.event).toBeUndefined();
  expect(releaseHeld(dropped.member, at(60)).event).toBeUndefined();
});

test('a revocation by a transfer is held where its role is to be held', () => {
  const check = aCheck(2, { gold: false, vip: false }, { cause: 'transfer' });
  expect(applyCheck(holder(), check).revoked).toEqual(['gold']);
  const held = applyCheck(holder(), check, new Set(['gold']));
  expect(held.event).toBeUndefined();
  expect(releaseHeld(held.member, at(60)).event?.sequence).toBe(2);
});

test('a block is false once the chain makes a lower one 10 minutes later, and checks are applied again', () => {
  const aheadOfAll = later(aMember(), aRead(1_000_000, 10, true));
  const madeAt = (second: number) => ({ blockTimes: { '1': Date.parse(at(second)) } });
  const ofStuckEndpoint = aRead(105, 3_600, false, madeAt(5));
  const tooSoon = aRead(105, 3_600, false, madeAt(609));
  for (const check of [ofStuckEndpoint, tooSoon, aRead(105, 3_600, false)])
    expect(applyCheck(aheadOfAll, check)).toEqual({ member: aheadOfAll, revoked: [] });
  const inTime = aRead(106, 612, false, madeAt(610));
  expect(revocationsOf(aheadOfAll, inTime)).toEqual(['gold']);
  const applied = applyCheck(aheadOfAll, inTime);
  expect(applied.event?.changes).toEqual([{ id: 'gold', granted: false, before: true }]);
  expect(applied.member.blockNumbers).toEqual({ '1': 106 });
  // A version that did not store the heads' times.
  const { headTimes: _, ...old } = aheadOfAll;
  expect(applyCheck(old, inTime)).toEqual({ member: old, revoked: [] });
});

test('a held revocation stays held if a late answer finds it by the new rules', () => {
  const found = applyCheck(holder(), aCheck(2, { gold: false, vip: false }, { sweep: 7 })).member;
  const held = settle(found, 7, ['gold']).member;
  const late = { rules: 'set@2', sweep: 8, isLate: true };
  expect(applyCheck(held, aCheck(3, { gold: false, vip: false }, late)).member.roles).toEqual(held.roles);
  const unread = applyCheck(held, aCheck(3, { gold: undefined, vip: false }, late)).member;
  expect(releaseHeld(unread, at(60)).event).toBeUndefined();
});

test('a revocation that was withheld under other rules is dropped unless the new rules revoke the role too', () => {
  const found = applyCheck(holder(), aCheck(2, { gold: false, vip: false }, { sweep: 7 })).member;
  for (const before of [found, settle(found, 7, ['gold']).member]) {
    const newRules = { rules: 'set@2', sweep: 8 };
    const unread = applyCheck(before, aCheck(3, { gold: undefined, vip: false }, newRules)).member;
    expect(unread.roles).toMatchObject([{ id: 'gold', granted: true }, { id: 'vip' }]);
    expect(unread.roles[0]?.withheld).toBeUndefined();
    expect(settle(unread, 7).event ?? releaseHeld(unread, at(60)).event).toBeUndefined();
    const revoked = applyCheck(before, aCheck(3, { gold: false, vip: false }, newRules)).member;
    expect(settle(revoked, 8).event?.changes[0]).toEqual({ id: 'gold', granted: false, before: true });
    // It counts as a new revocation, for the bound on them.
    expect(revocationsOf(before, aCheck(3, { gold: false, vip: false }, { rules: 'set@2' }))).toEqual([
      'gold',
    ]);
  }
});

/**
 * A chain that holds a balance for each block, and checks of its blocks that arrive in any order, twice, in sweeps or
 * not, with settlements and releases between them.
 */
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      block: fc.nat(19),
      sweep: fc.option(fc.nat(3)),
      isRead: fc.boolean(),
      hold: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ settle: fc.nat(3), hold: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ release: true as const }) },
);

test('any order of checks, copies, settlements and releases leaves no gap and revokes only roles that the chain took away', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }), fc.array(step), (chain, steps) => {
      let member = aMember();
      const events: MemberEvent[] = [];
      for (const one of [...steps, ...steps]) {
        const hold = new Set('hold' in one && one.hold ? ['gold'] : []);
        const applied =
          'block' in one
            ? applyCheck(
                member,
                aCheck(
                  one.block,
                  { gold: one.isRead ? chain[one.block] : undefined },
                  one.sweep === null ? {} : { sweep: one.sweep },
                ),
                hold,
              )
            : 'settle' in one
              ? settleSweep(member, { sweep: one.settle, cause: 'schedule', holdRoles: hold, at: at(59) })
              : releaseHeld(member, at(59));
        member = applied.member;
        if (applied.event) events.push(applied.event);
      }
      events.forEach((event, index) => {
        expect(event.sequence).toBe(index + 1);
        const [change] = event.changes;
        expect(change?.before ?? null).toBe(events[index - 1]?.changes[0]?.granted ?? null);
        if (change?.granted === false) expect(chain).toContain(false);
      });
      // The last event agrees with the member's stored verdict.
      const [role] = member.roles;
      if (role) expect(events.at(-1)?.changes[0]?.granted).toBe(role.granted);
    }),
  );
});
