import { parseTokenIds } from './token-ids.ts';

test('ids and ranges expand to a sorted list of distinct ids', () => {
  expect(parseTokenIds('42-44,1,2,43')).toEqual({ ok: true, ids: [1n, 2n, 42n, 43n, 44n] });
});

test('overlapping ranges count each id once, however many of them there are', () => {
  const ranges = Array.from({ length: 40_000 }, (_, i) => `${(i % 256) + 1}-256`).join();
  expect(parseTokenIds(ranges)).toEqual({
    ok: true,
    ids: Array.from({ length: 256 }, (_, i) => BigInt(i + 1)),
  });
});

test('an id counts once, however often it is listed', () => {
  expect(parseTokenIds(`${'7,'.repeat(100_000)}7`)).toEqual({ ok: true, ids: [7n] });
});

test.each([
  ['', 'grammar'],
  ['1, 2', 'grammar'],
  ['01', 'grammar'],
  ['-1', 'grammar'],
  ['1,', 'grammar'],
  ['1-2-3', 'grammar'],
  ['9-8', 'reversed'],
  [`${1n << 256n}`, 'too-large'],
  ['0-256', 'too-many'],
  ['0-200,100-300', 'too-many'],
  ['0-200,300-355', 'too-many'],
  ['0-99999999999999999999', 'too-many'],
] as const)('%j is refused as %s', (text, reason) => {
  expect(parseTokenIds(text)).toEqual({ ok: false, reason });
});

test('the largest id and exactly 256 ids are allowed', () => {
  expect(parseTokenIds(`${(1n << 256n) - 1n}`).ok).toBe(true);
  expect(parseTokenIds('0-255').ok).toBe(true);
});
