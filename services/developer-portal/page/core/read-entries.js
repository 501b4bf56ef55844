const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** The first cell of a header: a name and no address, also no misspelt one. */
const HEADER = /^[a-z][a-z _-]*$/i;
const ID_CHARS_MAX = 128;

/**
 * Reads a list of wallets: a text with one address a line, or CSV whose first column is the address and whose second, if
 * there is one, is the caller's own id. Byte order mark, CRLF, quotes, blanks and empty lines are tolerated, and so is a
 * header. Line numbers count from 1, as an editor shows them.
 *
 * @returns `entries` with the line of each; `invalid` lines with the reason; `repeated` lines that have the wallet and the
 *   id of an earlier line; `header`, if the first line is taken for one
 *
 * @example
 * readEntries('address,id\n0x…,42').entries; // [{ line: 2, account: '0x…', ref: '42' }]
 */
export function readEntries(text) {
  const found = { entries: [], invalid: [], repeated: [], header: undefined };
  const firstAt = new Map();
  let isFirst = true;
  for (const [place, whole] of text.split(/\r\n|\n|\r/).entries()) {
    const line = place + 1;
    // Also takes a byte order mark away.
    const trimmed = whole.trim();
    if (/^[,;\s]*$/.test(trimmed)) continue;
    const cells = cellsOf(trimmed);
    const isHeader = isFirst && cells !== undefined && HEADER.test(cells[0]);
    isFirst = false;
    const reason = isHeader ? undefined : faultOf(cells);
    if (isHeader) found.header = trimmed;
    else if (reason !== undefined) found.invalid.push({ line, text: trimmed, reason });
    else addEntry(found, firstAt, { line, account: cells[0], ...(cells[1] && { ref: cells[1] }) });
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

function faultOf(cells) {
  if (cells === undefined) return 'a quote is not closed';
  const [account, ref = ''] = cells;
  if (!ADDRESS.test(account)) return 'not an address: 0x and 40 hexadecimal digits';
  return [...ref].length > ID_CHARS_MAX ? `the id has more than ${ID_CHARS_MAX} characters` : undefined;
}

/** The first two cells of a line, without quotes and blanks; undefined if a quote is not closed. */
function cellsOf(line) {
  const cells = [];
  let rest = line;
  while (cells.length < 2) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*(?:[,;\t]|$)/.exec(rest);
    if (!quoted && /^\s*"/.test(rest)) return undefined;
    const [all, cell] = quoted ?? /^([^,;\t]*)(?:[,;\t]|$)/.exec(rest);
    cells.push(cell.replaceAll('""', '"').trim());
    if (all.length === rest.length) break;
    rest = rest.slice(all.length);
  }
  return cells;
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
