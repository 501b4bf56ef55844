import { sliceLines } from './batch-lines.ts';

describe('the lines of a stored part', () => {
  it.each([
    [0, 3, 'a\nbb\nccc\n'],
    [1, 2, 'bb\n'],
    [2, 3, 'ccc\n'],
    [1, 1, ''],
  ])('from %i to %i are whole', (first, end, expected) => {
    expect(sliceLines(Buffer.from('a\nbb\nccc\n'), first, end).toString()).toBe(expected);
  });
});
