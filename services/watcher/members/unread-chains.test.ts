import { makeUnreadChains } from './unread-chains.ts';

const nameOf = (memberId: string) => ({ watchUid: 'app_1/w/1', memberId });

test('one member of a chain is asked for all of them, and another one if it has no answer for long', () => {
  let nowMs = 0;
  const { note } = makeUnreadChains(() => nowMs);
  expect([note('1', nameOf('a')), note('1', nameOf('b')), note('2', nameOf('b'))]).toEqual([
    true,
    false,
    true,
  ]);
  nowMs = 15_000;
  expect([note('1', nameOf('a')), note('1', nameOf('b'))]).toEqual([true, false]);
  nowMs = 30_001;
  expect([note('1', nameOf('b')), note('1', nameOf('a'))]).toEqual([true, false]);
});

test('an answer that reads the chain has the next 500 members asked, and not those that it was about', () => {
  const { note, take } = makeUnreadChains(() => 0);
  for (let i = 0; i < 700; i++) note('1', nameOf(`m${i}`));
  expect(take('2', [])).toEqual([]);
  const first = take('1', [nameOf('m0'), nameOf('m1')]);
  expect([first.length, first[0]]).toEqual([500, nameOf('m2')]);
  expect(take('1', first)).toHaveLength(198);
  expect(take('1', [])).toEqual([]);
});
