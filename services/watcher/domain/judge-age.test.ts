import fc from 'fast-check';
import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import { aCheck, aMember, at, holder, UNREAD } from '../../../test/support/builders/a-member-check.ts';
import { applyCheck, revocationsOf } from './apply-check.ts';
import type { MemberCheck } from './judge-age.ts';

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
  expect(applyCheck(first.member, lower)).toEqual({ member: first.member, revoked: [] });
  expect(applyCheck(first.member, ofOldTag)).toEqual({
    member: first.member,
    revoked: [],
    isToRecheck: true,
  });
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
    // The same verdict too: it may hide a change on one chain behind the older block of the other.
    expect(applyCheck(known(), behind(true, TRANSFER)).member.awaitedBlocks).toEqual({ '1': 105 });
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
      behind(true),
      behind(false, { ...TRANSFER, minBlock: { '1': 104 } }),
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
      // A head that is not below the others is the truth; the answers to lower ones wait for the
      // chain to grow.
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

test('a repeated check of a reorg that a lagging endpoint answers revokes nothing that was read after the reorg', () => {
  const reorg = { reorgFrom: { '1': 100 }, reorgKnownAt: Date.parse(at(15)), cause: 'transfer' } as const;
  const onNewFork = later(aMember(), aRead(110, 10, false), aRead(108, 20, true, reorg));
  expect(onNewFork.roles).toMatchObject([{ id: 'gold', granted: true }]);
  for (const number of [104, 99]) {
    const { event, member, isToRecheck } = applyCheck(onNewFork, aRead(number, 30, false, reorg));
    expect([event, isToRecheck]).toEqual([undefined, true]);
    // Only a block as high as the known one can tell.
    expect(applyCheck(member, aRead(107, 40, false)).event).toBeUndefined();
    expect(applyCheck(member, aRead(108, 50, false)).event).toBeDefined();
  }
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
