import { decodeText, readEntries as readTableEntries, writeBatch } from './read-entries.ts';
import { readTable } from './read-table.ts';

const [A, B] = [`0x${'a'.repeat(40)}`, `0x${'B'.repeat(40)}`];
/** As they are sent with the columns that are found. */
function readEntries(text: string) {
  const table = readTable(text);
  return { ...readTableEntries(table), header: table.header };
}

test.each([
  ['one address a line', `${A}\n${B}\n`],
  ['CRLF, blanks and empty lines', `  ${A} \r\n\r\n\t${B}\r\n`],
  ['a byte order mark', `\ufeff${A}\n${B}`],
  ['quotes', `"${A}"\n"${B}",""\n`],
  ['empty columns', `${A},,\n${B};;`],
])('a list with %s is read', (_, text) => {
  const { entries, invalid, repeated, header } = readEntries(text);
  expect(entries.map(({ account, ref }) => [account, ref])).toEqual([
    [A, undefined],
    [B, undefined],
  ]);
  expect([invalid, repeated, header]).toEqual([[], [], undefined]);
});

test.each([
  `address,id\n${A},42\n`,
  `\ufeff"Wallet";"Discord id"\r\n"${A}";"42"\r\n`,
  `wallet\tid\n${A}\t42`,
])('a header is passed over, and names the column of the id: %j', (text) => {
  const { entries, invalid, header } = readEntries(text);
  expect(entries).toEqual([{ line: 2, account: A, ref: '42', isRepeated: false }]);
  expect(invalid).toEqual([]);
  expect(header).toBeDefined();
});

test('quotes inside of quotes and separators inside of quotes belong to the id', () => {
  expect(readEntries(`${A},"a ""b"", c"`).entries).toMatchObject([{ ref: 'a "b", c' }]);
});

test('invalid lines are named by their number, and none of them is sent', () => {
  const { entries, invalid } = readEntries(`${A}\nvitalik.eth\n\n0x12\n"${B}\n${A},${'x'.repeat(129)}\n`);
  expect(entries.map(({ line }) => line)).toEqual([1]);
  expect(invalid.map(({ line }) => line)).toEqual([2, 4, 5, 6]);
});

test('a misspelt address in the first line is not a header', () => {
  expect(readEntries(`0xabc\n${A}`)).toMatchObject({ header: undefined, invalid: [{ line: 1 }] });
  expect(readEntries(`vitalik.eth\n${A}`)).toMatchObject({ header: undefined, invalid: [{ line: 1 }] });
});

test('a line repeats another if wallet and id are the same, whatever the case of the wallet', () => {
  const { entries, repeated } = readEntries([B, B.toLowerCase().replace('0X', '0x'), `${B},bob`].join('\n'));
  expect(repeated).toEqual([{ line: 2, of: 1 }]);
  expect(entries.map(({ isRepeated }) => isRepeated)).toEqual([false, true, false]);
});

test('the body has the rule set in its first line, and then one entry a line', () => {
  const { entries } = readEntries(`${A}\n${B},bob`);
  expect(writeBatch({ ruleSet: 'holders' }, entries)).toBe(
    `{"ruleSet":"holders"}\n"${A}"\n{"account":"${B}","ref":"bob"}\n`,
  );
});

test('a file in UTF-16 is read as one in UTF-8', () => {
  const utf16 = Buffer.from(`\ufeff${A}`, 'utf16le');
  for (const bytes of [utf16, Buffer.from(utf16).swap16(), Buffer.from(`\ufeff${A}`)])
    expect(readEntries(decodeText(bytes)).entries.map(({ account }) => account)).toEqual([A]);
});

test('100 000 lines are read, and the id of the last one is there', () => {
  const lines = Array.from(
    { length: 100_000 },
    (_, i) => `0x${i.toString(16).padStart(40, '0')},member ${i}`,
  );
  const { entries, invalid, repeated } = readEntries(lines.join('\r\n'));
  expect([entries.length, invalid.length, repeated.length]).toEqual([100_000, 0, 0]);
  expect(entries.at(-1)).toMatchObject({ line: 100_000, ref: 'member 99999' });
});
