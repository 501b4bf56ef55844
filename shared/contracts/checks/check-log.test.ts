import { type LoggedCheck, lineOfCheck, parseCheckLine, roleTagOf } from './check-log.ts';

const CHECK: LoggedCheck = {
  requestId: 'AQIBofwEwmibyuoaXYj9AIDX34EW0VVy3Lod1f4H',
  mode: 'webhook',
  status: 'completed',
  acceptedAtMs: 1_795_255_200_000,
  durationMs: 12,
  granted: 2,
  denied: 1,
  undetermined: 2,
  codes: ['rpc-timeout', 'contract-not-found'],
  keyId: 'key_1',
  roleTags: [roleTagOf('holder'), roleTagOf('a role, with a comma')],
  request: { partition: 23, offset: 9_007_199_254 },
  waitedMs: 3,
  storedMs: 14,
};

test('a logged check is the same after it was written as a line', () => {
  expect(parseCheckLine(lineOfCheck(CHECK))).toEqual(CHECK);
  const { waitedMs: _, storedMs: __, ...rest } = CHECK;
  const withoutErrors = { ...rest, undetermined: 0, codes: [], roleTags: [] };
  expect(parseCheckLine(lineOfCheck(withoutErrors))).toEqual(withoutErrors);
});

test('role ids of any length and with any characters have different short tags', () => {
  const tags = ['holder', 'holder ', 'a,b c', '\ud800', 'x'.repeat(10_000)].map(roleTagOf);
  expect(new Set(tags).size).toBe(tags.length);
  for (const tag of tags) expect(tag).toMatch(/^[\w-]{8}$/);
});

test('a line of another form is ignored', () => {
  for (const line of [
    '',
    'r sync',
    `${lineOfCheck(CHECK)} more`,
    lineOfCheck(CHECK).replace('webhook', 'fax'),
    lineOfCheck(CHECK).replace('23/', '23'),
  ])
    expect(parseCheckLine(line)).toBeUndefined();
});
