import fc from 'fast-check';
import type { Checked, WatchMember } from '#shared/contracts/watches/watch.ts';
import {
  aMember,
  anAnswer,
  at,
  holder,
  rulesNow,
  UNREAD,
} from '../../../test/support/builders/a-member-check.ts';
import { type Fault, storiesHold } from '../../../test/support/judges/member-model.ts';
import type { Answer } from './judge-answer.ts';
import { applyAnswer, dueAtOf, owe, type Rules, releaseHeld, settleSweeps } from './member.ts';

const apply = (
  member: WatchMember,
  answer: Answer,
  rules: Partial<Rules> = {},
  hold?: Parameters<typeof applyAnswer>[3],
) => applyAnswer(member, answer, rulesNow(rules), hold);
const settle = (
  member: WatchMember,
  sweep: number,
  hold: readonly string[] = [],
  rules: Partial<Rules> = {},
) => settleSweeps(member, { sweeps: [sweep], holdRoles: new Set(hold), at: at(50) }, rulesNow(rules));
const seenAt = (block: number, second = block) => ({ '1': { block, askedAt: Date.parse(at(second)) } });

/** The holder, whose last check has read these blocks. */
const holderWho = (seen: Checked['seen']): WatchMember => {
  const { checked, ...member } = holder();
  return { ...member, ...(checked && { checked: { ...checked, seen } }) };
};

test('any story of a member leaves it with the role of the chain, and with events without gap or reuse', () => {
  fc.assert(storiesHold(), { numRuns: 300 });
});

test.each<Fault>(['forgets-forks', 'forgets-seen', 'forgets-owed', 'forgets-stamp'])(
  'the random stories find a member that %s',
  (fault) => {
    expect(fc.check(storiesHold(fault), { numRuns: 10_000 }).failed).toBe(true);
  },
);

describe('the event of a check', () => {
  test('has every decided role, without a previous verdict, the first time', () => {
    const { member, event } = apply(aMember(), anAnswer(1, { gold: true, vip: undefined, none: false }));
    expect(event).toMatchObject({
      cause: 'first',
      sequence: 1,
      changes: [
        { id: 'gold', granted: true, before: null },
        { id: 'none', granted: false, before: null },
      ],
    });
    expect(member.roles.map(({ id }) => id)).toEqual(['gold', 'none']);
  });

  test('names no transfer the first time, though one caused the check', () => {
    const transfer = {
      ...{ chainId: 1, contractAddress: '0x1', transactionHash: '0x2' },
      ...{ blockNumber: 1, logIndex: 0 },
    };
    const answer = anAnswer(1, { gold: true }, { why: { cause: 'transfer', transfer }, owed: { '1': 1 } });
    const { event } = apply(aMember(), answer);
    expect(event?.cause).toBe('first');
    expect(event).not.toHaveProperty('transfer');
  });

  test('is absent if no rule could be read', () => {
    const { member, event } = apply(aMember(), anAnswer(1, { gold: undefined }, { errors: [UNREAD] }));
    expect(event).toBeUndefined();
    expect(member).toMatchObject({ sequence: 0, roles: [], checked: { at: at(1) } });
  });

  test('lists changed roles first and the others with their former verdict', () => {
    const { event } = apply(holder(), anAnswer(2, { gold: true, vip: true }));
    expect(event).toMatchObject({
      cause: 'schedule',
      sequence: 2,
      changes: [
        { id: 'vip', granted: true, before: false },
        { id: 'gold', granted: true, before: true },
      ],
    });
  });

  test('is absent for a role that could not be read, and for one that the rule set lost', () => {
    const unread = apply(holder(), anAnswer(2, { gold: undefined, vip: undefined }));
    expect([unread.event, unread.member.roles]).toEqual([undefined, holder().roles]);
    const lost = apply(holder(), anAnswer(2, { vip: false }, { rules: 'set#2 latest' }), {
      rules: 'set#2 latest',
    });
    expect([lost.event, lost.member.roles.map(({ id }) => id)]).toEqual([undefined, ['vip']]);
  });

  test('names the newest transfer that caused it, also if an earlier check could not read it', () => {
    const transferAt = (blockNumber: number) => ({
      ...{ chainId: 1, contractAddress: '0x1', transactionHash: `0x${blockNumber}` },
      ...{ blockNumber, logIndex: 0 },
    });
    const ofTransfer = (block: number) =>
      ({ why: { cause: 'transfer', transfer: transferAt(block) }, owed: { '1': block } }) as const;
    const unread = { ...ofTransfer(5), read: {}, errors: [UNREAD] };
    const { member } = apply(holder(), anAnswer(5, { gold: undefined, vip: undefined }, unread));
    expect(member.owed).toMatchObject({
      ...{ why: { cause: 'transfer', transfer: transferAt(5) }, blocks: { '1': 5 } },
    });
    const retried = apply(
      member,
      anAnswer(6, { gold: false, vip: false }, { why: { cause: 'transfer' }, owed: { '1': 5 } }),
    );
    expect(retried.event).toMatchObject({ cause: 'transfer', transfer: transferAt(5) });
    const scheduled = apply(member, anAnswer(6, { gold: false, vip: false }));
    expect(scheduled.event?.transfer).toBeUndefined();
    // A reorg has dropped it.
    const dropped = owe(member, { since: at(7), blocks: { '1': 6 }, why: { cause: 'transfer' } }, rulesNow());
    expect(dropped.member.owed?.why.transfer).toBeUndefined();
  });
});

describe('an answer', () => {
  test.each<[string, Partial<Answer>]>([
    ['of other wallets', { walletsAt: at(9) }],
    ['of an older block that says nothing new', { read: seenAt(0), verdicts: new Map([['gold', true]]) }],
    ['of a sweep by former rules', { rules: 'set#0 latest', sweep: 7 }],
  ])('%s is dropped', (_, over) => {
    const before = holder();
    expect(apply(before, anAnswer(2, { gold: false, vip: false }, over))).toEqual({
      member: before,
      revoked: [],
    });
  });

  test.each<[string, Partial<Answer>, Partial<Rules>]>([
    ['by former rules', { rules: 'set#0 latest' }, {}],
    ['of an older block', { read: seenAt(0) }, {}],
    ['whose head was requested before that of the last check', { read: seenAt(3, 0) }, {}],
    ['of a dropped fork', {}, { forks: { '1': [{ from: 2, knownAt: Date.parse(at(3)) }] } }],
  ])('%s changes no role, and a check is owed', (_, over, rules) => {
    const answer = anAnswer(
      2,
      { gold: false, vip: false },
      { why: { cause: 'transfer' }, owed: { '1': 2 }, ...over },
    );
    const { member, isDropped, event } = apply(holder(), answer, rules);
    expect([isDropped, event, member.roles]).toEqual([true, undefined, holder().roles]);
    expect(member.owed).toEqual({ since: at(2), blocks: { '1': 2 }, why: { cause: 'transfer' } });
  });

  test('of a lower block is applied after a reorg, and under another tag', () => {
    const far = apply(aMember(), anAnswer(10, { gold: true })).member;
    const lower = (rules: string) =>
      anAnswer(9, { gold: false }, { read: seenAt(9, 20), evaluatedAt: at(20), rules });
    expect(apply(far, lower('set#1 latest')).event).toBeUndefined();
    const forks = { '1': [{ from: 8, knownAt: Date.parse(at(15)) }] };
    expect(apply(far, lower('set#1 latest'), { forks }).revoked).toEqual(['gold']);
    expect(apply(far, lower('set#1 safe'), { rules: 'set#1 safe' }).revoked).toEqual(['gold']);
  });

  test('of a lower block is applied if the chain made it ten minutes after the higher one was seen', () => {
    const aheadOfAll = apply(
      aMember(),
      anAnswer(
        1_000_000,
        { gold: true },
        {
          ...{ read: seenAt(1_000_000, 10), evaluatedAt: at(10) },
        },
      ),
    ).member;
    const madeAt = (second: number | undefined) =>
      anAnswer(
        105,
        { gold: false },
        {
          read: {
            '1': {
              ...{ block: 105, askedAt: Date.parse(at(3_600)) },
              madeAt: second === undefined ? undefined : Date.parse(at(second)),
            },
          },
          evaluatedAt: at(3_600),
        },
      );
    for (const second of [5, 609, undefined]) expect(apply(aheadOfAll, madeAt(second)).revoked).toEqual([]);
    const applied = apply(aheadOfAll, madeAt(610));
    expect([applied.revoked, applied.member.checked?.seen['1']?.block]).toEqual([['gold'], 105]);
  });

  test('counts although the last head seems to come from the future, after a step of a clock', () => {
    const stepped = apply(holder(), anAnswer(5, { gold: true, vip: false }, { read: seenAt(5, 605) })).member;
    for (const second of [20, 120, 590, 610])
      expect(apply(stepped, anAnswer(second, { gold: false, vip: false })).revoked).toEqual(['gold']);
  });
});

describe('what a member is owed', () => {
  const unread = (over: Partial<Answer> = {}) =>
    anAnswer(2, { gold: undefined, vip: undefined }, { read: {}, errors: [UNREAD], ...over });

  test('stays until a check has read it, and left nothing retryable unread', () => {
    const owed = apply(holder(), unread({ why: { cause: 'transfer' }, owed: { '1': 5 } })).member;
    expect(owed.owed).toEqual({ since: at(2), blocks: { '1': 5 }, why: { cause: 'transfer' } });
    const behind = apply(owed, anAnswer(4, { gold: true, vip: false })).member;
    expect(behind.owed).toEqual(owed.owed);
    const half = apply(owed, anAnswer(5, { gold: true, vip: undefined }, { errors: [UNREAD] })).member;
    expect(half.owed).toEqual(owed.owed);
    expect(apply(owed, anAnswer(5, { gold: true, vip: false })).member.owed).toBeUndefined();
  });

  test('is raised by what a sweep by new rules, of a pause or a gap could not read, and not by a scheduled one', () => {
    const byNewRules = unread({ sweep: 7, why: { cause: 'rule-set' }, rules: 'set#2 latest' });
    const { member } = apply(holder(), byNewRules, { rules: 'set#2 latest' });
    expect(member.owed).toEqual({ since: at(2), blocks: { '1': 0 }, why: { cause: 'rule-set' } });
    expect(apply(holder(), unread({ sweep: 7, forgives: true })).member.owed).toBeUndefined();
    const owed = {
      ...holder(),
      owed: { since: at(0), blocks: { '1': 9 }, why: { cause: 'transfer' as const } },
    };
    expect(apply(owed, unread({ sweep: 7, forgives: true })).member.owed?.blocks).toEqual({ '1': 9 });
  });

  test('on one chain stays if another one was read at an older block, also with the same verdict', () => {
    const before = holderWho(seenAt(200, 9));
    const answer = anAnswer(
      195,
      { gold: true, vip: false },
      {
        read: { ...seenAt(195, 10), '2': { block: 50, askedAt: Date.parse(at(10)) } },
        ...{ owed: { '2': 50 }, why: { cause: 'transfer' }, evaluatedAt: at(10) },
      },
    );
    expect(apply(before, answer)).toMatchObject({
      isDropped: true,
      member: { owed: { blocks: { '2': 50 } } },
    });
  });

  test('of a chain that no rule names any more is forgotten', () => {
    const owed = { since: at(1), blocks: { '1': 9, '5': 9 }, why: { cause: 'transfer' as const } };
    const { member } = apply({ ...holder(), owed }, anAnswer(2, { gold: true, vip: false }));
    expect(member.owed?.blocks).toEqual({ '1': 9 });
  });

  test('at a block that the chain passed without reaching it, for ten minutes, is forgotten', () => {
    const owed = { since: at(1), blocks: { '1': 1_000_000 }, why: { cause: 'transfer' as const } };
    const readAt = (madeAt: number) =>
      anAnswer(
        700,
        { gold: true, vip: false },
        {
          read: { '1': { block: 700, askedAt: Date.parse(at(700)), madeAt: Date.parse(at(madeAt)) } },
        },
      );
    expect(apply({ ...holder(), owed }, readAt(600)).member.owed).toEqual(owed);
    expect(apply({ ...holder(), owed }, readAt(601)).member.owed).toBeUndefined();
  });

  test('at a block above what following has reached, as after a chain began anew, ends at what it has reached', () => {
    const owed = { since: at(1), blocks: { '1': 265 }, why: { cause: 'transfer' as const } };
    const readAt = (block: number) =>
      anAnswer(
        30,
        { gold: true, vip: false },
        { read: { '1': { block, askedAt: Date.parse(at(30)) } }, owed: { '1': 73 } },
      );
    const reached = { '1': 73 };
    expect(apply({ ...holder(), owed }, readAt(73), { reached }).member.owed).toBeUndefined();
    expect(apply({ ...holder(), owed }, readAt(72), { reached }).member.owed?.blocks).toEqual({ '1': 73 });
    expect(apply({ ...holder(), owed }, readAt(73)).member.owed?.blocks).toEqual({ '1': 265 });
  });

  test('is not raised by a transfer that was seen, unless a reorg has dropped that block', () => {
    const owed = { since: at(9), blocks: { '1': 4 }, why: { cause: 'transfer' as const } };
    const member = holderWho(seenAt(5));
    expect(owe(member, owed, rulesNow())).toEqual({ member, revoked: [] });
    const forks = { '1': [{ from: 4, knownAt: Date.parse(at(8)) }] };
    expect(owe(member, owed, rulesNow({ forks })).member.owed).toEqual(owed);
  });

  test('makes it due after 5 s, then at doubling intervals up to 10 minutes; a probe every 5 s', () => {
    const since = Date.parse(at(0));
    const owing = { ...holder(), owed: { since: at(0), blocks: {}, why: { cause: 'schedule' as const } } };
    const waitAfter = (ms: number, options = {}) => (dueAtOf(owing, since + ms, options) ?? 0) - since - ms;
    expect([1_000, 5_000, 10_000, 300_000, 900_000].map((ms) => waitAfter(ms))).toEqual([
      ...[5_000, 5_000, 10_000, 300_000, 600_000],
    ]);
    expect(waitAfter(300_000, { isSoon: true })).toBe(5_000);
    expect(dueAtOf(holder(), since)).toBeUndefined();
  });

  test('makes it due sooner after each dropped answer, once the head that it had read is too old to be used', () => {
    const since = Date.parse(at(0));
    const owing = { ...holder(), owed: { since: at(0), blocks: {}, why: { cause: 'transfer' as const } } };
    const waits = [0, 100, 600, 1_200].map(
      (ms) => (dueAtOf(owing, since + ms, { isDropped: true }) ?? 0) - since - ms,
    );
    expect(waits).toEqual([600, 600, 600, 1_200]);
  });
});

describe('a revocation that is held back', () => {
  const DENIED = { gold: false, vip: false };

  test('by a sweep is sent when the sweep is settled, and grants are sent at once', () => {
    const found = apply(holder(), anAnswer(2, { gold: false, vip: true }, { sweep: 7 }));
    expect(found.event?.changes).toEqual([
      { id: 'vip', granted: true, before: false },
      { id: 'gold', granted: true, before: true },
    ]);
    expect(settle(found.member, 6).event).toBeUndefined();
    const settled = settle(found.member, 7);
    expect(settled).toMatchObject({ revoked: ['gold'], event: { cause: 'schedule', sequence: 3 } });
    expect(settle(settled.member, 7).event).toBeUndefined();
  });

  test('is sent at once if a transfer finds it during the sweep', () => {
    const found = apply(holder(), anAnswer(2, DENIED, { sweep: 7 })).member;
    const { event } = apply(found, anAnswer(3, DENIED, { why: { cause: 'transfer' } }));
    expect(event).toMatchObject({ cause: 'transfer', sequence: 2 });
  });

  test('and held is sent by a release alone, and dropped when a check grants the role again', () => {
    const held = settle(apply(holder(), anAnswer(2, DENIED, { sweep: 7 })).member, 7, ['gold']).member;
    const again = apply(held, anAnswer(3, DENIED, { sweep: 8 })).member;
    expect(settle(again, 8).event).toBeUndefined();
    expect(releaseHeld(again, at(60)).event).toMatchObject({ cause: 'release', sequence: 2 });
    const dropped = apply(again, anAnswer(4, { gold: true, vip: false }, { sweep: 9 }));
    expect(dropped.event).toBeUndefined();
    expect(releaseHeld(dropped.member, at(60)).event).toBeUndefined();
  });

  test('where too many are revoked is held, by a transfer too', () => {
    const answer = anAnswer(2, DENIED, { why: { cause: 'transfer' } });
    expect(apply(holder(), answer).revoked).toEqual(['gold']);
    const held = apply(holder(), answer, {}, { roles: new Set(['gold']), at: at(30) });
    expect(held.event).toBeUndefined();
    // A repeated release sends nothing that was held after it.
    expect(releaseHeld(held.member, at(29)).event).toBeUndefined();
    expect(releaseHeld(held.member, at(30)).revoked).toEqual(['gold']);
  });

  test('under former rules is dropped unless the new ones revoke the role too', () => {
    const found = apply(holder(), anAnswer(2, DENIED, { sweep: 7 })).member;
    const rules = { rules: 'set#2 latest' };
    for (const before of [found, settle(found, 7, ['gold']).member]) {
      const unread = apply(
        before,
        anAnswer(3, { gold: undefined, vip: false }, { ...rules, sweep: 8 }),
        rules,
      );
      expect(unread.member.roles[0]?.heldBack).toBeUndefined();
      const revoked = apply(before, anAnswer(3, DENIED, { ...rules, sweep: 8 }), rules);
      expect(settle(revoked.member, 8, [], rules).revoked).toEqual(['gold']);
    }
  });

  test('by a sweep under another block tag is dropped when it is settled, and a check is owed', () => {
    const found = apply(holder(), anAnswer(5, DENIED, { sweep: 7 })).member;
    const settled = settle(found, 7, [], { rules: 'set#1 safe' });
    expect([settled.event, settled.member.roles]).toEqual([undefined, holder().roles]);
    expect(settled.member.owed).toEqual({ since: at(50), blocks: {}, why: { cause: 'rule-set' } });
    // Nothing is left for another settlement.
    expect(settle(settled.member, 7, [], { rules: 'set#1 safe' }).member).toEqual(settled.member);
  });

  test('by a sweep under former rules is not sent, and an answer by the new ones that is void is owed', () => {
    const found = apply(holder(), anAnswer(5, DENIED, { sweep: 7 })).member;
    const rules = { rules: 'set#2 latest' };
    const behind = anAnswer(4, { gold: true, vip: false }, { ...rules, sweep: 8 });
    const owing = apply(found, behind, rules);
    expect(owing).toMatchObject({ isDropped: true, member: { owed: { since: at(4) } } });
    expect(settle(owing.member, 7, [], rules).event).toBeUndefined();
    const granted = apply(owing.member, anAnswer(6, { gold: true, vip: false }, rules), rules);
    expect([granted.event, granted.member.roles[0]?.heldBack]).toEqual([undefined, undefined]);
  });

  test('is checked again if an answer that would drop it is void', () => {
    const found = apply(holder(), anAnswer(5, DENIED, { sweep: 7 })).member;
    expect(apply(found, anAnswer(4, { gold: true, vip: false }, { sweep: 8 })).isDropped).toBe(true);
  });
});

describe('with a grace, a revocation', () => {
  const rules = { graceSeconds: 10, chainsOf: new Map([['gold', new Set(['1'])]]) };
  const transfer = {
    ...{ chainId: 1, contractAddress: '0x1', transactionHash: '0x2' },
    ...{ blockNumber: 2, logIndex: 0 },
  };
  const byTransfer = { why: { cause: 'transfer', transfer }, owed: { '1': 2 } } as const;
  const pending = () => apply(holder(), anAnswer(2, { gold: false, vip: false }, byTransfer), rules);
  const lookAt = (block: number, second: number, gold = false, over: Partial<Answer> = {}) =>
    anAnswer(block, { gold, vip: false }, { read: seenAt(block, second), evaluatedAt: at(second), ...over });

  test('is sent only after a check of a later block denies too, with the cause and the transfer of the first', () => {
    const { member, event, revoked } = pending();
    expect([event, revoked, member.roles[0]?.granted]).toEqual([undefined, [], true]);
    expect(dueAtOf(member, Date.parse(at(3)))).toBe(Date.parse(at(12)));
    // Too soon, and no later block.
    for (const look of [lookAt(9, 11), lookAt(2, 13)])
      expect(apply(member, look, rules).event).toBeUndefined();
    const sent = apply(member, lookAt(3, 12), rules);
    expect(sent).toMatchObject({ revoked: ['gold'], event: { cause: 'transfer', transfer, sequence: 2 } });
  });

  test('knows who answered its first check, until it is decided', () => {
    const answeredBy = { '1': ['0'] };
    const found = apply(
      holder(),
      anAnswer(2, { gold: false, vip: false }, { answeredBy, sweep: 7 }),
      rules,
    ).member;
    expect(found.roles[0]?.heldBack).toMatchObject({ answeredBy });
    const looked = apply(found, lookAt(3, 12, false, { answeredBy: { '1': ['1'] } }), rules).member;
    expect(settle(looked, 7, ['gold']).member.roles[0]?.heldBack).not.toHaveProperty('answeredBy');
  });

  test('is dropped by a grant in between', () => {
    const granted = apply(pending().member, lookAt(3, 5, true), rules);
    expect([granted.event, granted.member.roles[0]?.heldBack]).toEqual([undefined, undefined]);
  });

  test('keeps its grace if the setting changes meanwhile', () => {
    expect(apply(pending().member, lookAt(3, 5), { ...rules, graceSeconds: 0 }).event).toBeUndefined();
    expect(apply(pending().member, lookAt(3, 12), { ...rules, graceSeconds: 90 }).revoked).toEqual(['gold']);
  });

  test('is held if too many are revoked by then', () => {
    const held = apply(pending().member, lookAt(3, 12), rules, { roles: new Set(['gold']), at: at(12) });
    expect(held.member.roles[0]?.heldBack).toMatchObject({ since: at(12), why: { cause: 'transfer' } });
    expect(releaseHeld(held.member, at(20)).event?.cause).toBe('release');
  });

  test('of a sweep is settled with the others of that sweep, after its second check', () => {
    const found = apply(holder(), anAnswer(2, { gold: false, vip: false }, { sweep: 7 }), rules).member;
    expect(settle(found, 7).event).toBeUndefined();
    const looked = apply(found, lookAt(3, 12), rules);
    expect([looked.event, looked.member.roles[0]?.heldBack?.looked]).toEqual([undefined, true]);
    expect(settle(looked.member, 7).event).toMatchObject({ cause: 'schedule', sequence: 2 });
  });

  test.each<[string, Partial<Answer>]>([
    ['reverts', { errors: [{ ...UNREAD, code: 'call-reverted', retryable: false }] }],
    ['is not answered', { errors: [UNREAD], read: {} }],
  ])('whose second check %s is checked again after doubling waits, until it is decided', (_, over) => {
    const before = pending().member;
    const failed = (second: number) =>
      lookAt(second, second, false, { verdicts: new Map([['gold', undefined]]), owed: { '1': 3 }, ...over });
    const once = apply(before, failed(12), rules).member;
    const twice = apply(once, failed(32), rules).member;
    const waits = [once, twice].map((member, i) => {
      const nowMs = Date.parse(at([12, 32][i] ?? 0));
      return (dueAtOf(member, nowMs) ?? 0) - nowMs;
    });
    expect(waits).toEqual([5_000, 20_000]);
    const sent = apply(twice, lookAt(60, 60), rules);
    expect([sent.revoked, sent.member.owed]).toEqual([['gold'], undefined]);
  });

  test('that was looked at is looked at again if a later sweep could not read it, as after a pause', () => {
    const found = apply(holder(), anAnswer(2, { gold: false, vip: false }, { sweep: 7 }), rules).member;
    const looked = apply(found, lookAt(3, 12), rules).member;
    const unread = (sweep: number) =>
      anAnswer(20, { gold: undefined, vip: undefined }, { read: {}, errors: [UNREAD], sweep });
    expect(settle(apply(looked, unread(7), rules).member, 7).revoked).toEqual(['gold']);
    const unsure = apply(looked, unread(9), rules).member;
    expect(settle(unsure, 7).event).toBeUndefined();
    expect(settle(apply(unsure, lookAt(21, 21), rules).member, 7).revoked).toEqual(['gold']);
  });

  test('is looked at by the sweep of a resume, which decides it with its own', () => {
    const swept = apply(pending().member, lookAt(3, 12, false, { sweep: 9 }), rules).member;
    expect(swept.roles[0]?.heldBack).toMatchObject({ sweep: 9, why: { cause: 'transfer' } });
    expect(settle(swept, 9).event).toMatchObject({ cause: 'transfer', transfer });
  });
});
