import { type LoggedCheck, lineOfCheck, parseCheckLine } from './check-log.ts';

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
};

test('a logged check is the same after it was written as a line', () => {
  expect(parseCheckLine(lineOfCheck(CHECK))).toEqual(CHECK);
  const withoutErrors = { ...CHECK, undetermined: 0, codes: [] };
  expect(parseCheckLine(lineOfCheck(withoutErrors))).toEqual(withoutErrors);
});

test('a line of another version is ignored', () => {
  for (const line of [
    '',
    'r sync',
    `${lineOfCheck(CHECK)} more`,
    lineOfCheck(CHECK).replace('webhook', 'fax'),
  ])
    expect(parseCheckLine(line)).toBeUndefined();
});
