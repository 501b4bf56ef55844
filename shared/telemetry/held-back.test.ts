import { makeHeldBack } from './held-back.ts';

test('one event of an interval goes through, and the next one tells how many did not', () => {
  let time = 0;
  const heldBack = makeHeldBack(1_000, () => time);
  expect([heldBack(), heldBack(), heldBack()]).toEqual([0, undefined, undefined]);
  time = 1_000;
  expect([heldBack(), heldBack()]).toEqual([2, undefined]);
});
