import type { HeldBack, MemberRole, WatchMember } from '#shared/contracts/watches/watch.ts';
import { figuresOfWrite } from './watch-members.ts';

const AT = '2026-11-22T10:00:00.000Z';
const aMember = (...roles: MemberRole[]) => ({ sequence: 2, roles }) as unknown as WatchMember;
const granted = (heldBack?: Partial<HeldBack>): MemberRole => ({
  ...{ id: 'gold', granted: true, since: AT },
  ...(heldBack === undefined ? {} : { heldBack: { since: AT, why: { cause: 'schedule' }, ...heldBack } }),
});

test('a revocation that a sweep holds back is counted once, whether its write is repeated or not', () => {
  const found = aMember(granted({ sweep: 7 }));
  expect(figuresOfWrite(aMember(granted()), found)).toEqual({ 'waiting/7/gold': 1 });
  expect(figuresOfWrite(found, found)).toEqual({});
});

test('a role that is granted again leaves the figures of its sweep', () => {
  expect(figuresOfWrite(aMember(granted({ sweep: 7 })), aMember(granted()))).toEqual({
    'waiting/7/gold': -1,
  });
});

test('a second check moves a revocation from those that wait for it to those that had it', () => {
  const pending = { sweep: 7, graceUntil: AT };
  const looked = aMember(granted({ ...pending, looked: true }));
  expect(figuresOfWrite(aMember(granted(pending)), looked)).toEqual({
    'pending/7/gold': -1,
    'looked/7/gold': 1,
  });
});

test('a released revocation is no longer held, and the role has one holder less', () => {
  const released = aMember({ id: 'gold', granted: false, since: AT });
  expect(figuresOfWrite(aMember(granted({})), released)).toEqual({ 'holders/gold': -1, 'held/gold': -1 });
});

test('removing a member removes its figures', () => {
  const removed = { ...aMember(granted()), removedAt: AT };
  expect(figuresOfWrite(aMember(granted()), removed)).toEqual({ 'holders/gold': -1 });
});
