import { isBlank, parseJson } from './parse-json.ts';

const MARK = '\ufeff';

test.each(['{"a":1}', `${MARK}{"a":1}`, `${MARK}\r\n {"a":1}\r\n`])('parses %j', (text) => {
  expect(parseJson(Buffer.from(text), 'The body')).toEqual({ a: 1 });
});

test.each([
  ['', 'The body is empty; send a JSON object.'],
  [MARK, 'The body is empty; send a JSON object.'],
  [' \r\n', 'The body is empty; send a JSON object.'],
  ['{"a":1,}', 'The body is not JSON: Expected double-quoted property name at position 7.'],
  [`${MARK}{"a":1,}`, 'The body is not JSON: Expected double-quoted property name at position 7.'],
  ['{"secret":["a",]}', "The body is not JSON: Unexpected token ']'."],
  ["{'a':1}", "The body is not JSON: Expected property name or '}' at position 1."],
  ['secret=1', "The body is not JSON: Unexpected token 's'."],
  [`${MARK}${MARK}{}`, 'The body is not JSON.'],
  ['{"a":', 'The body is not JSON: it ends too early.'],
  [Buffer.from([0x22, 0xff, 0x22]), 'The body is not UTF-8.'],
  [Buffer.from(`${MARK}{}`, 'utf16le'), 'The body is not UTF-8.'],
])('says why %j is refused', (text, detail) => {
  const parse = () => parseJson(Buffer.from(text as string), 'The body');
  expect(parse).toThrow(expect.objectContaining({ code: 'malformed-json', message: detail }));
});

test('a text is blank if it has white space alone, and only white space of JSON', () => {
  expect(['', '\r', ' \t', MARK, `${MARK}\r`].map((text) => isBlank(Buffer.from(text)))).not.toContain(false);
  expect(['0', ' {', '\u00a0', `\r${MARK}`, '\0'].map((text) => isBlank(Buffer.from(text)))).not.toContain(
    true,
  );
});

const objectOf = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`name-${index}`, '"a":1'])));

test('a text of very many names or values is refused before it is parsed', () => {
  const parse = jest.spyOn(JSON, 'parse');
  const numbers = (count: number) => `[${Array.from({ length: count }, () => 1).join()}]`;
  for (const text of [objectOf(4_097), `${objectOf(4_097)}malformed`, numbers(262_145)])
    expect(() => parseJson(Buffer.from(text), 'The body')).toThrow(
      expect.objectContaining({
        code: 'validation-failed',
        members: { errors: [expect.objectContaining({ pointer: '', code: 'too-many' })] },
      }),
    );
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
});

test('a text that nests without end is no JSON, which is found before it is parsed', () => {
  const parse = jest.spyOn(JSON, 'parse');
  expect(() => parseJson(Buffer.from('['.repeat(1_000_000)), 'The body')).toThrow(
    expect.objectContaining({ code: 'malformed-json', message: expect.stringContaining('131072') }),
  );
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
});

test.each([
  `${'['.repeat(1_000)}${' '.repeat(20_000)}${']'.repeat(1_000)}`,
  objectOf(4_096),
  JSON.stringify(Array.from({ length: 30_000 }, (_, index) => ({ account: `"${index}\\`, 'a"\\': '{,[:' }))),
  JSON.stringify(Array.from({ length: 262_144 }, () => '"x":')),
])('a long text of few names and values is parsed', (text) => {
  expect(parseJson(Buffer.from(text), 'The body')).toEqual(JSON.parse(text));
});
