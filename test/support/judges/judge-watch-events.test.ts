import { judgeRevocations, judgeWatchEvents, type WatchEvent } from './judge-watch-events.ts';

const event = (sequence: number, granted: boolean, before: boolean | null): WatchEvent => ({
  ref: 'm',
  sequence,
  granted,
  before,
  body: `${sequence} ${granted} ${before}`,
});
const SOUND = [event(1, true, null), event(2, false, true), event(3, true, false)];
const HELD = new Map([['m', true]]);

test('correct events have no fault, in any order and repeated', () => {
  expect(judgeWatchEvents([...SOUND.toReversed(), ...SOUND], HELD)).toEqual([]);
});

test.each([
  ['a member without an event', [], /no event/],
  ['a gap', SOUND.filter(({ sequence }) => sequence !== 2), /no sequence 2/],
  ['a sequence that does not begin at 1', SOUND.slice(1), /no sequence 1/],
  ['two bodies of one sequence', [...SOUND, { ...event(3, true, false), body: 'other' }], /two bodies/],
  ['an event without a change', [event(1, true, null), event(2, true, true)], /changes true to true/],
  ['another verdict before', [event(1, true, null), event(2, false, false)], /after true/],
  ['a last event that differs from the chain', SOUND.slice(0, 2), /the last event says false/],
])('%s is a fault', (_what, events, fault) => {
  expect(judgeWatchEvents(events, HELD).join()).toMatch(fault);
});

test('a revocation without a cause on the chain is a fault, however often its event arrives', () => {
  expect(judgeRevocations([...SOUND, ...SOUND], new Map([['m', [7]]]))).toEqual([]);
  expect(judgeRevocations(SOUND, new Map()).join()).toMatch(/1 revocations, but the role was lost at \[\]: /);
});
