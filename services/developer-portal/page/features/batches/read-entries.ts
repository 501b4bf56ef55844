import { idColumn, isAddress, type Table } from './read-table.ts';

export type Entry = { line: number; account: string; ref?: string; isRepeated: boolean };
/** The wallets of a table as they will be sent. */
export type Found = {
  /** The column of the addresses; undefined while the choice is open. */
  account: number | undefined;
  /** The column of the caller's own ids, null for none; undefined while the choice is open. */
  ref: number | null | undefined;
  entries: Entry[];
  invalid: { line: number; text: string; reason: string }[];
  /** Lines that have the wallet and the id of an earlier line. */
  repeated: { line: number; of: number }[];
};
/** Of columns; `ref` is null for none. */
export type Choice = { account?: number | null; ref?: number | null };

const ID_CHARS_MAX = 128;

/**
 * The wallets of a table, by the chosen columns or those that the table tells.
 *
 * @example
 * readEntries(readTable('id,address\n42,0x…')).entries; // [{ line: 2, account: '0x…', ref: '42', isRepeated: false }]
 */
export function readEntries(table: Table, choice: Choice = {}): Found {
  const account = choice.account ?? table.account;
  const isChosen = choice.ref !== undefined && choice.ref !== account;
  const ref = isChosen ? choice.ref : idColumn(table, account);
  const found: Found = { account, ref, entries: [], invalid: [], repeated: [] };
  if (account === undefined) return found;
  const firstLineOf = new Map<string, number>();
  for (const { line, text, cells } of table.rows) {
    const [wallet = '', id = ''] = [cells?.[account], typeof ref === 'number' ? cells?.[ref] : ''];
    const reason = faultOf(cells, wallet, id);
    if (reason !== undefined) {
      found.invalid.push({ line, text, reason });
      continue;
    }
    const key = `${wallet.toLowerCase()} ${id}`;
    const earlier = firstLineOf.get(key);
    if (earlier === undefined) firstLineOf.set(key, line);
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

/** The text of a file, in UTF-8, or in UTF-16 as some spreadsheets write it. */
export function decodeText(buffer: ArrayBuffer | Uint8Array<ArrayBuffer>) {
  const [first, second] = new Uint8Array(buffer);
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return new TextDecoder(isUtf16 ? (first === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8').decode(buffer);
}
