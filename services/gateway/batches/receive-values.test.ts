import fc from 'fast-check';
import { receiveLines, splitLines } from './receive-values.ts';

const tooLong = (index: number) => new Error(`line ${index + 1} is too long`);

/** The lines of a text that arrives in pieces of these lengths, the rest in one. */
function linesOf(text: Buffer, lengths: readonly number[], bytesMax = 1_000): string[] {
  const { push, end } = splitLines(() => bytesMax, tooLong);
  const lines: string[] = [];
  let from = 0;
  for (const length of [...lengths, text.length]) {
    for (const line of push(text.subarray(from, from + length))) lines.push(line.toString('latin1'));
    from = Math.min(text.length, from + length);
  }
  const last = end();
  return last ? [...lines, last.toString('latin1')] : lines;
}

describe('the line splitter', () => {
  it('gives the same lines however the text is cut into chunks', () => {
    const text = fc.array(fc.constantFrom(0x0a, 0x0a, 0x61, 0xc3, 0xa9), { maxLength: 300 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(7)), (bytes, lengths) => {
        const buffer = Buffer.from(bytes);
        const expected = buffer.toString('latin1').split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect(linesOf(buffer, lengths)).toEqual(expected);
      }),
    );
  });

  it('returns a last line without a line feed, and no line after a final line feed', () => {
    expect(linesOf(Buffer.from('a\nb'), [])).toEqual(['a', 'b']);
    expect(linesOf(Buffer.from('a\nb\n'), [])).toEqual(['a', 'b']);
    expect(linesOf(Buffer.from('a\n\nb\n'), [])).toEqual(['a', '', 'b']);
  });

  it.each([[[]], [[1, 1, 1, 1, 1, 1, 1]]])(
    'refuses a line above the bound as soon as it is, cut into %j',
    (lengths) => {
      expect(linesOf(Buffer.from('a\n12345\n'), lengths, 5)).toEqual(['a', '12345']);
      expect(() => linesOf(Buffer.from('a\n123456'), lengths, 5)).toThrow('line 2 is too long');
    },
  );

  it('bounds each line on its own', () => {
    const { push } = splitLines((index) => (index === 0 ? 10 : 2), tooLong);
    expect([...push(Buffer.from('0123456789\nab\n'))]).toHaveLength(2);
    expect(() => [...push(Buffer.from('abc'))]).toThrow('line 3 is too long');
  });
});

test('a line is parsed in a turn, the first one too, and the last without a line feed', async () => {
  const parse = jest.spyOn(JSON, 'parse');
  const parsedCounts: number[] = [];
  async function* chunks() {
    yield Buffer.from('1\n2\n3');
  }
  const giveWay = async () => void parsedCounts.push(parse.mock.calls.length);
  await receiveLines(
    { chunks: chunks(), giveWay },
    () => 10,
    () => undefined,
  );
  expect(parsedCounts).toEqual([0, 1, 2]);
  parse.mockRestore();
});
