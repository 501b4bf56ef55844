import type { HeldBack, MemberRole, WatchMember } from '#shared/contracts/watches/watch.ts';
import { effectsOf } from './watch-members.ts';

const AT = '2026-11-22T10:00:00.000Z';
const aMember = (...roles: MemberRole[]) => ({ sequence: 2, roles }) as unknown as WatchMember;
const granted = (heldBack?: Partial<HeldBack>): MemberRole => ({
  ...{ id: 'gold', granted: true, since: AT },
  ...(heldBack === undefined ? {} : { heldBack: { since: AT, cause: 'schedule', ...heldBack } }),
});

test('a revocation that a sweep holds back is counted once, whether its write is repeated or not', () => {
  const found = aMember(granted({ sweep: 7 }));
  expect(effectsOf(aMember(granted()), found).figures).toEqual({ 'waiting/7/gold': 1 });
  expect(effectsOf(found, found).figures).toEqual({});
});

test('a role that is granted again leaves the figures of its sweep', () => {
  expect(effectsOf(aMember(granted({ sweep: 7 })), aMember(granted())).figures).toEqual({
    'waiting/7/gold': -1,
  });
});

test('a second check moves a revocation from those that wait for it to those that had it', () => {
  const pending = { sweep: 7, graceUntil: AT };
  const looked = aMember(granted({ ...pending, looked: true }));
  expect(effectsOf(aMember(granted(pending)), looked).figures).toEqual({
    'pending/7/gold': -1,
    'looked/7/gold': 1,
  });
});

test('a released revocation is no longer held, and the role has one holder less', () => {
  const released = aMember({ id: 'gold', granted: false, since: AT });
  expect(effectsOf(aMember(granted({})), released)).toMatchObject({
    figures: { 'holders/gold': -1, 'held/gold': -1 },
    revoked: [['gold', Date.parse(AT)]],
  });
});

test('removing a member removes its figures', () => {
  const removed = { ...aMember(granted()), removedAt: AT };
  expect(effectsOf(aMember(granted()), removed).figures).toEqual({ members: -1, 'holders/gold': -1 });
});

test('a role that is decided for the first time and denied is not a revocation', () => {
  const denied = aMember({ id: 'gold', granted: false, since: AT });
  expect(effectsOf(aMember(), denied).revoked).toEqual([]);
  expect(effectsOf(aMember({ id: 'gold', granted: false, since: AT }), denied).revoked).toEqual([]);
});
