import { exceedsShare } from './exceeds-share.ts';

test.each([
  [20, 100, false, 'exactly the share'],
  [21, 100, true, 'more than the share'],
  [19, 20, false, 'fewer than the least count'],
])('%i revocations of %i holders: held is %s (%s)', (revocations, holders, expected) => {
  expect(exceedsShare({ share: 0.2, atLeast: 20 }, revocations, holders)).toBe(expected);
});
