import { FairShares, type Owner } from './fair-shares.ts';

const takeAll = (shares: FairShares, owner: Owner): number => {
  let taken = 0;
  while (shares.take(owner)) taken += 1;
  return taken;
};

const appOf = (accountId: string, app: number): Owner => ({ accountId, clientId: `${accountId}/${app}` });

test('an account that holds some leaves a quarter of the places, and as many as it holds', () => {
  expect(takeAll(new FairShares(100), 'a')).toBe(38);
});

test('accounts that take in turn hold equal parts, and a quarter stays for first places', () => {
  const shares = new FairShares(100);
  const owners = ['a', 'b', 'c', 'd'];
  for (let round = 0; round < 100; round += 1) for (const owner of owners) shares.take(owner);
  expect(owners.map((owner) => shares.heldBy(owner))).toEqual([15, 15, 15, 15]);
});

test('an account with 500 apps has the share of one account, and others find places', () => {
  const shares = new FairShares(64);
  let held = 0;
  for (let round = 0; round < 64; round += 1)
    for (let app = 0; app < 500; app += 1) if (shares.take(appOf('big', app))) held += 1;
  expect(held).toBe(24);
  expect(takeAll(shares, appOf('other', 1))).toBe(8);
});

test('an account that holds none finds a first place beside 20 accounts that hold as much as they can', () => {
  const shares = new FairShares(64);
  const greedy = Array.from({ length: 20 }, (_, i) => `acc_${i}`);
  for (const accountId of greedy) for (let app = 0; app < 5; app += 1) takeAll(shares, appOf(accountId, app));
  expect(shares.count).toBeGreaterThanOrEqual(48);
  expect(shares.take(appOf('victim', 1))).toBe(true);
});

test('first places alone can use up the kept quarter', () => {
  const shares = new FairShares(4);
  expect(['a', 'b', 'c', 'd', 'e'].map((owner) => shares.take(owner))).toEqual([
    true,
    true,
    true,
    true,
    false,
  ]);
});

test('within an account an app leaves places to a second one, and no app takes more than the account may', () => {
  const shares = new FairShares(100);
  expect([takeAll(shares, appOf('a', 1)), takeAll(shares, appOf('a', 2))]).toEqual([25, 9]);
  expect(shares.heldBy('a')).toBe(34);
});

test('where bytes are shared, an account that holds none takes one item of the largest size, in pieces too', () => {
  const shares = new FairShares(64, { place: 16 });
  expect(shares.take('a', 16)).toBe(true);
  // It holds as many as are free above the kept ones.
  expect([shares.take('a', 16), shares.take('a', 8)]).toEqual([false, true]);
  for (let piece = 0; piece < 4; piece += 1) expect(shares.take('b', 4)).toBe(true);
  expect([shares.take('c', 17), shares.take('c', 16)]).toEqual([false, true]);
});

test('a returned place is free again, and only once', () => {
  const shares = new FairShares(1);
  const [app] = [appOf('a', 1)];
  expect([shares.take(app), shares.take(app)]).toEqual([true, false]);
  shares.give(app);
  shares.give(app);
  expect([shares.count, shares.take(appOf('b', 1))]).toEqual([0, true]);
});

test('several places are taken as if one after the other, or not at all, and as many are freed', () => {
  const shares = new FairShares(100);
  expect([shares.take('a', 39), shares.take('a', 38), shares.take('b', 20)]).toEqual([false, true, false]);
  expect([shares.take('b', 19), shares.count]).toEqual([true, 57]);
  shares.give('a', 38);
  expect([shares.count, shares.heldBy('a'), shares.heldBy('b')]).toEqual([19, 0, 19]);
});
