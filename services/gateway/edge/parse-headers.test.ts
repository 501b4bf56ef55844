import { parseIdempotencyKey } from '../checks/parse-request.ts';
import { parsePreferWait } from './parse-prefer.ts';

describe('an idempotency key', () => {
  it.each([
    ['abc', 'abc'],
    ['"abc"', 'abc'],
    ['"a\\"b"', 'a"b'],
    ['"a\\\\b"', 'a\\b'],
    ['"', '"'],
    ['a"b', 'a"b'],
    ['x'.repeat(255), 'x'.repeat(255)],
  ])('%j is the key %j', (header, key) => expect(parseIdempotencyKey(header)).toBe(key));

  it.each(['', '""', 'a b', '"a b"', 'é', 'x'.repeat(256), 'a\tb'])('%j is malformed', (header) =>
    expect(parseIdempotencyKey(header)).toBeUndefined(),
  );
});

describe('a preferred wait', () => {
  it.each([
    [undefined, 0],
    ['wait=5', 5],
    ['Wait = 5', 5],
    ['wait="7"', 7],
    ['respond-async, wait=10; x=y', 10],
    ['wait=26', 25],
    ['wait=999999999', 25],
    ['wait=99999999999', 25],
    [`wait=${'9'.repeat(400)}`, 25],
    ['wait=5, wait=9', 5],
    ['wait=-1', 0],
    ['waits=4', 0],
  ])('%j is %i seconds', (header, seconds) => expect(parsePreferWait(header)).toBe(seconds));
});
