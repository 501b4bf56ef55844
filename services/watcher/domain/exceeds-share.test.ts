import { exceedsShare } from './exceeds-share.ts';

test.each([
  [20, 100, false, 'exactly the share'],
  [21, 100, true, 'more than the share'],
  [19, 20, false, 'fewer than the least count'],
])('%i revocations of %i holders: held is %s (%s)', (revocations, holders, expected) => {
  expect(exceedsShare({ share: 0.2, atLeast: 20 }, revocations, holders)).toBe(expected);
});

test.each([0.07, 0.29, 0.57, 0.58])(
  'exactly a share of %f of 100 holders is not too much, although binary fractions round it',
  (share) => {
    const revocations = Math.round(share * 100);
    expect(exceedsShare({ share, atLeast: 1 }, revocations, 100)).toBe(false);
    expect(exceedsShare({ share, atLeast: 1 }, revocations + 1, 100)).toBe(true);
  },
);
