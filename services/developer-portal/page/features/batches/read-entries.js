import { idColumn } from './find-columns.js';
import { isAddress } from './read-table.js';

const ID_CHARS_MAX = 128;

/**
 * The wallets of a table, as they will be sent.
 *
 * @param choice `{ account?, ref? }`: the columns of the address and of the caller's own id, instead of those that the
 *   table tells; `ref` is null for none
 * @returns the two columns, undefined where the choice is still open; `entries` with the line of each; `invalid` lines
 *   with the reason; `repeated` lines that have the wallet and the id of an earlier line
 *
 * @example
 * readEntries(readTable('id,address\n42,0x…')).entries; // [{ line: 2, account: '0x…', ref: '42', isRepeated: false }]
 */
export function readEntries(table, choice = {}) {
  const account = choice.account ?? table.account;
  const isChosen = choice.ref !== undefined && choice.ref !== account;
  const ref = isChosen ? choice.ref : idColumn(table, account);
  const found = { account, ref, entries: [], invalid: [], repeated: [] };
  if (account === undefined) return found;
  const firstAt = new Map();
  for (const { line, text, cells } of table.rows) {
    const [wallet = '', id = ''] = [cells?.[account], cells?.[ref]];
    const reason = faultOf(cells, wallet, id);
    if (reason !== undefined) found.invalid.push({ line, text, reason });
    else addEntry(found, firstAt, { line, account: wallet, ...(id && { ref: id }) });
  }
  return found;
}

function addEntry({ entries, repeated }, firstAt, entry) {
  const key = `${entry.account.toLowerCase()} ${entry.ref ?? ''}`;
  const earlier = firstAt.get(key);
  if (earlier === undefined) firstAt.set(key, entry.line);
  else repeated.push({ line: entry.line, of: earlier });
  entries.push({ ...entry, isRepeated: earlier !== undefined });
}

function faultOf(cells, wallet, id) {
  if (cells === undefined) return 'a quote is not closed';
  if (!isAddress(wallet)) return 'not an address: 0x and 40 hexadecimal digits';
  return [...id].length > ID_CHARS_MAX ? `the id has more than ${ID_CHARS_MAX} characters` : undefined;
}

/**
 * The body of a batch as NDJSON: the members that all entries share, then one entry a line.
 *
 * @param head `{ ruleSet, callbackUrl? }`
 */
export const writeBatch = (head, entries) =>
  [head, ...entries.map(({ account, ref }) => (ref === undefined ? account : { account, ref }))]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

/** The text of a file, in UTF-8, or in UTF-16 as some spreadsheets write it. */
export function decodeText(buffer) {
  const [first, second] = new Uint8Array(buffer);
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return new TextDecoder(isUtf16 ? (first === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8').decode(buffer);
}
