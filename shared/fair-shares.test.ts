import { FairShares } from './fair-shares.ts';

const takeAll = (shares: FairShares, owner: string): number => {
  let taken = 0;
  while (shares.take(owner)) taken += 1;
  return taken;
};

test('an owner alone holds half of the slots', () => {
  expect(takeAll(new FairShares(100), 'a')).toBe(50);
});

test('an owner that comes later finds slots, however greedy the others are', () => {
  const shares = new FairShares(100);
  expect(['a', 'b', 'c', 'd'].map((owner) => takeAll(shares, owner))).toEqual([50, 25, 13, 6]);
  expect(shares.take('e')).toBe(true);
});

test('owners that take in turn hold equal parts, and one part stays free', () => {
  const shares = new FairShares(100);
  const owners = ['a', 'b', 'c', 'd'];
  for (let round = 0; round < 100; round += 1) for (const owner of owners) shares.take(owner);
  expect(owners.map((owner) => shares.heldBy(owner))).toEqual([20, 20, 20, 20]);
});

test('a returned slot is free again, and only once', () => {
  const shares = new FairShares(2);
  expect([shares.take('a'), shares.take('a')]).toEqual([true, false]);
  shares.give('a');
  shares.give('a');
  expect(shares.count).toBe(0);
  expect(shares.take('a')).toBe(true);
});

test('several slots are taken as if one after the other, or not at all, and as many are freed', () => {
  const shares = new FairShares(100);
  expect([shares.take('a', 51), shares.take('a', 50), shares.take('b', 26)]).toEqual([false, true, false]);
  expect([shares.take('b', 25), shares.count]).toEqual([true, 75]);
  shares.give('a', 50);
  expect([shares.count, shares.heldBy('a'), shares.heldBy('b')]).toEqual([25, 0, 25]);
});
