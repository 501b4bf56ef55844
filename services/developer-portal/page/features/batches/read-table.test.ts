import fc from 'fast-check';
import { readEntries } from './read-entries.ts';
import { readTable } from './read-table.ts';

const [A, B] = [`0x${'a'.repeat(40)}`, `0x${'B'.repeat(40)}`];

/** What the page sends of a text if nobody chooses columns: addresses and ids; undefined if it asks
 * for the column. */
function takenOf(text: string) {
  const found = readEntries(readTable(text));
  return {
    account: found.account,
    ref: found.ref,
    taken: found.entries.map(({ account, ref }) => (ref === undefined ? [account] : [account, ref])),
  };
}

test.each([
  ['our own example', `ref,account\nann,${A}\nbob,${B}\n`, 1, 0, ['ann', 'bob']],
  ['our own example without its header', `ann,${A}\nbob,${B}`, 1, 0, ['ann', 'bob']],
  [
    'an export of a spreadsheet',
    `Nr;Name;Wallet;Discord id\r\n1;Ann;${A};42\r\n2;"Bob; jr";${B};43\r\n`,
    2,
    1,
    ['Ann', 'Bob; jr'],
  ],
  ['an index without a name', `,userId,address\n0,u1,${A}\n1,u2,${B}`, 2, 1, ['u1', 'u2']],
  ['tabs, the first cell empty', `\twallet\tid\n\t${A}\t1\n\t${B}\t2`, 1, 2, ['1', '2']],
  ['an address with a name behind blanks', `${A}   ann\n${B} "bob jr"`, 0, 1, ['ann', 'bob jr']],
])('the columns of %s are found', (_, text, account, ref, ids) => {
  expect(takenOf(text)).toEqual({ account, ref, taken: [A, B].map((wallet, at) => [wallet, ids[at]]) });
});

test.each([
  ['a blank', `${A} 100.5\n${B} 2`],
  ['a tab', `${A}\t100.5\n${B}\t2`],
  ['a semicolon and a decimal comma', `${A};100,5\n${B};2,0`],
  ['a comma, in the order of a token list', `100.5,${A}\n2,${B}`],
  ['a header', `HolderAddress,Balance,Share\n${A},100,1%\n${B},2,0.1%`],
])('an amount beside the address is not an id: %s', (_, text) => {
  expect(takenOf(text)).toMatchObject({ ref: null, taken: [[A], [B]] });
});

test.each([
  ['two columns have addresses', `${A},${B}\n${B},${A}`],
  ['the owner and the contract are addresses', `owner;contract\n${A};${B}`],
])('the address is asked for where %s', (_, text) => {
  expect(takenOf(text)).toMatchObject({ account: undefined, taken: [] });
  const chosen = readEntries(readTable(text), { account: 1 });
  expect(chosen.entries[0]).toEqual({ line: expect.any(Number), account: B, isRepeated: false });
});

test.each([
  ['whole numbers that may be ids or amounts', `${A},42\n${B},7`],
  ['several columns of text', `${A},ann,x\n${B},bob,y`],
  ['a column whose name tells nothing', `wallet,Mitglied\n${A},ann\n${B},bob`],
])('the id is asked for where there are %s', (_, text) => {
  expect(takenOf(text)).toMatchObject({ account: 0, ref: undefined, taken: [[A], [B]] });
  expect(readEntries(readTable(text), { ref: 1 }).entries[0]).toHaveProperty('ref');
  expect(readEntries(readTable(text), { ref: null }).ref).toBeNull();
});

test('a chosen address is not taken as the id too', () => {
  const table = readTable(`ann,${A}\nbob,${B}`);
  expect(readEntries(table, { account: 0, ref: 0 })).toMatchObject({ account: 0, ref: null, entries: [] });
  expect(readEntries(table, { account: 1, ref: 1 })).toMatchObject({ account: 1, ref: 0 });
});

test('a misspelt address is not replaced by an address elsewhere in its line', () => {
  const { entries, invalid } = readEntries(readTable(`ann,${A},\nbob,0x12,was ${B} before\n`), { ref: 0 });
  expect(entries.map(({ account }) => account)).toEqual([A]);
  expect(invalid).toMatchObject([{ line: 2, reason: expect.stringContaining('not an address') }]);
});

test('a line without the separator of the list may have another', () => {
  expect(takenOf(`${A},ann\n${B}\tbob`).taken).toEqual([
    [A, 'ann'],
    [B, 'bob'],
  ]);
});

test('every address of a list is taken or named, whatever its separators', () => {
  const lines = fc.array(
    fc.tuple(
      fc.constantFrom(A, B, '0x12', ''),
      fc.constantFrom('', 'ann', '7', '"x, y"'),
      fc.constantFrom(',', ';', '\t', ' '),
    ),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(lines, fc.constantFrom('\n', '\r\n'), (rows, end) => {
      const text = rows.map(([wallet, id, separator]) => `${wallet}${separator}${id}`).join(end);
      const { entries, invalid } = readEntries(readTable(text), { account: 0, ref: null });
      const named = new Set([...entries, ...invalid].map(({ line }) => line));
      for (const [place, [wallet]] of rows.entries()) if (wallet !== '') expect(named).toContain(place + 1);
      expect(entries.every(({ line, account }) => rows[line - 1]?.[0] === account)).toBe(true);
    }),
  );
});
