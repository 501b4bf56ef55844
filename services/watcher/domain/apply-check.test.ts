import fc from 'fast-check';
import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import { aCheck, aMember, at, holder } from '../../../test/support/builders/a-member-check.ts';
import {
  applyCheck,
  awaitBlocks,
  type MemberEvent,
  releaseHeld,
  revocationsOf,
  settleSweep,
} from './apply-check.ts';
import type { MemberCheck } from './judge-age.ts';

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
])('a check %s changes nothing', (_, over) => {
  const before = holder();
  expect(applyCheck(before, aCheck(2, { gold: false, vip: false }, over))).toEqual({
    member: before,
    revoked: [],
  });
});

test.each<[string, Partial<MemberCheck>]>([
  ['that the watch no longer has', { isOutdated: true }],
  ['of an older version', { rules: 'set@0', askedAt: at(0) }],
])('a check by rules %s changes no role; a transfer is checked by the present rules instead', (_, over) => {
  const before = holder();
  const applied = (other: Partial<MemberCheck>) =>
    applyCheck(before, aCheck(2, { gold: false, vip: true }, { ...over, ...other }));
  expect(applied({})).toEqual({ member: before, revoked: [], isToRecheck: true });
  expect(applied({ sweep: 7 })).toEqual({ member: before, revoked: [] });
  expect(applied({ minBlock: { '1': 2 } }).member).toEqual({
    ...before,
    awaitedBlocks: { '1': 2 },
    unreadSince: at(2),
  });
  expect(applied({ reorgFrom: { '1': 1 } }).member.awaitedBlocks).toEqual({ '1': 1 });
});

test('a check after a reorg whose head was requested before the reorg was known changes nothing, and is repeated', () => {
  const before = { ...holder(), blockNumbers: { '1': 6 }, headTimes: { '1': 100 } };
  const checkedAt = (headTime: number) =>
    applyCheck(
      before,
      aCheck(
        6,
        { gold: false, vip: false },
        { reorgFrom: { '1': 5 }, reorgKnownAt: 1_000, headTimes: { '1': headTime } },
      ),
    );
  expect(checkedAt(999)).toEqual({
    member: { ...before, awaitedBlocks: { '1': 6 }, unreadSince: at(6) },
    revoked: [],
    isToRecheck: true,
  });
  expect(checkedAt(1_000)).toMatchObject({ revoked: ['gold'], event: { sequence: 2 } });
});

test('a transfer on one chain is not lost if another chain was read at an older block, also with the same verdict', () => {
  const before = { ...holder(), blockNumbers: { '1': 200 }, headTimes: { '1': 9_000 } };
  const check = aCheck(
    195,
    { gold: true, vip: false },
    { blockNumbers: { '1': 195, '2': 50 }, headTimes: { '1': 9_500, '2': 9_500 }, minBlock: { '2': 50 } },
  );
  expect(applyCheck(before, check)).toMatchObject({
    ...{ isToRecheck: true, revoked: [], member: { roles: before.roles, awaitedBlocks: { '2': 50 } } },
  });
});

test('the block of a chain that no rule names any more is not awaited', () => {
  const before = { ...holder(), awaitedBlocks: { '1': 9, '5': 9 }, unreadSince: at(1) };
  const { member } = applyCheck(before, aCheck(2, { gold: true, vip: false }));
  expect(member).toMatchObject({ awaitedBlocks: { '1': 9 }, unreadSince: at(1) });
  expect(applyCheck(before, aCheck(9, { gold: true, vip: false })).member).not.toHaveProperty(
    'awaitedBlocks',
  );
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
  const held = applyCheck(holder(), check, { roles: new Set(['gold']), at: at(2) });
  expect(held.event).toBeUndefined();
  expect(releaseHeld(held.member, at(60)).event?.sequence).toBe(2);
});

test('a release does not send revocations that were held after it, so a repeated one sends nothing new', () => {
  const check = aCheck(2, { gold: false, vip: false }, { cause: 'transfer' });
  const held = applyCheck(holder(), check, { roles: new Set(['gold']), at: at(30) }).member;
  expect(releaseHeld(held, at(29)).event).toBeUndefined();
  expect(releaseHeld(held, at(30)).revoked).toEqual(['gold']);
  const found = applyCheck(holder(), aCheck(2, { gold: false, vip: false }, { sweep: 7 })).member;
  const settled = settleSweep(found, {
    sweep: 7,
    cause: 'schedule',
    holdRoles: new Set(['gold']),
    at: at(40),
  });
  expect(releaseHeld(settled.member, at(39)).event).toBeUndefined();
  expect(releaseHeld(settled.member, at(40)).revoked).toEqual(['gold']);
});

test('a transfer whose check could not be requested has the member checked until its block is read', () => {
  const member = { ...holder(), blockNumbers: { '1': 5 } };
  const transfer = { evaluatedAt: at(9), minBlock: { '1': 8 } };
  expect(awaitBlocks(member, transfer)).toMatchObject({
    ...{ isToRecheck: true, revoked: [], member: { awaitedBlocks: { '1': 8 }, unreadSince: at(9) } },
  });
  expect(awaitBlocks({ ...member, blockNumbers: { '1': 8 } }, transfer).isToRecheck).toBeUndefined();
  const dropped = { evaluatedAt: at(9), reorgFrom: { '1': 4 } };
  expect(awaitBlocks(member, dropped).member.awaitedBlocks).toEqual({ '1': 5 });
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
 * A chain that holds a balance for each block, and checks of its blocks that arrive in any order,
 * twice, in sweeps or not, with settlements and releases between them.
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
                { roles: hold, at: at(58) },
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
