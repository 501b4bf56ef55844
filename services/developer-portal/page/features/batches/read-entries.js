import { idColumn, isAddress } from './read-table.js';

/** @import { Table } from './read-table.js' */
/** @typedef {{ line: number, account: string, ref?: string, isRepeated: boolean }} Entry */
/**
 * The wallets of a table as they will be sent: the two columns, undefined where the choice is still
 * open, the entries with the line of each, invalid lines with the reason, and lines that have the
 * wallet and the id of an earlier line.
 * @typedef {{ line: number, text: string, reason: string }} Invalid
 * @typedef {{ account: number | undefined, ref: number | null | undefined }} Columns
 * @typedef {Columns & { entries: Entry[], invalid: Invalid[], repeated: { line: number, of: number
 *   }[] }} Found
 */
/** @typedef {{ account?: number | null, ref?: number | null }} Choice of columns; `ref` is null for
 * none */

const ID_CHARS_MAX = 128;

/**
 * The wallets of a table, as they will be sent.
 * @param {Table} table
 * @param {Choice} [choice] instead of the columns that the table tells
 * @returns {Found}
 *
 * @example
 * readEntries(readTable('id,address\n42,0x…')).entries; // [{ line: 2, account: '0x…', ref: '42', isRepeated: false }]
 */
export function readEntries(table, choice = {}) {
  const account = choice.account ?? table.account;
  const isChosen = choice.ref !== undefined && choice.ref !== account;
  const ref = isChosen ? choice.ref : idColumn(table, account);
  /** @type {Found} */
  const found = { account, ref, entries: [], invalid: [], repeated: [] };
  if (account === undefined) return found;
  /** @type {Map<string, number>} the first line of each wallet and id */
  const firstAt = new Map();
  for (const { line, text, cells } of table.rows) {
    const [wallet = '', id = ''] = [cells?.[account], typeof ref === 'number' ? cells?.[ref] : ''];
    const reason = faultOf(cells, wallet, id);
    if (reason !== undefined) {
      found.invalid.push({ line, text, reason });
      continue;
    }
    const key = `${wallet.toLowerCase()} ${id}`;
    const earlier = firstAt.get(key);
    if (earlier === undefined) firstAt.set(key, line);
    else found.repeated.push({ line, of: earlier });
    found.entries.push({ line, account: wallet, ...(id && { ref: id }), isRepeated: earlier !== undefined });
  }
  return found;
}

function faultOf(cells, wallet, id) {
  if (cells === undefined) return 'a quote is not closed';
  if (!isAddress(wallet)) return 'not an address: 0x and 40 hexadecimal digits';
  return [...id].length > ID_CHARS_MAX ? `the id has more than ${ID_CHARS_MAX} characters` : undefined;
}

/** The body of a batch as NDJSON: the members that all entries share, then one entry a line. */
export const writeBatch = (head, entries) =>
  [head, ...entries.map(({ account, ref }) => (ref === undefined ? account : { account, ref }))]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

/** The text of a file, in UTF-8, or in UTF-16 as some spreadsheets write it.
 * @param {ArrayBuffer | Uint8Array<ArrayBuffer>} buffer */
export function decodeText(buffer) {
  const [first, second] = new Uint8Array(buffer);
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return new TextDecoder(isUtf16 ? (first === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8').decode(buffer);
}
