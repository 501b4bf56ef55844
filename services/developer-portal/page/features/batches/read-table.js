import { accountColumn } from './find-columns.js';

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** In the order in which they are tried. */
const SEPARATORS = ['\t', ';', ',', ' '];
/** Lines that are looked at to find the separator. */
const SAMPLE_LINES = 100;
/** Cells of a line beyond these are not read. */
const COLUMNS_MAX = 64;
/** A cell of a header: a name and no address, also no misspelt one. */
const HEADER = /^\p{L}[\p{L}\p{M} _()/#-]*$/u;
const NUMBER = /^[+-]?[\d.,_'\u00a0 ]+(?:e[+-]?\d+)?%?$/i;
const INTEGER = /^\d+$/;

export const isAddress = (text) => ADDRESS.test(text);

/**
 * Splits a list of wallets into rows and columns. Tabs, semicolons, commas or blanks separate the columns; a byte-order
 * mark, CRLF, quotes, blanks around cells, empty lines and a header are tolerated. Line numbers count from 1, as an
 * editor shows them.
 *
 * @returns `rows` without the header, each with its `cells`, which are undefined if a quote is not closed; `columns`
 *   with the name in the header, the first filled cell and what they hold; `header`, if the first line is taken for one;
 *   `account`, the column of the addresses, undefined if several could be it
 *
 * @example
 * readTable('id;wallet\n42;0x…').account; // 1
 */
export function readTable(text) {
  const lines = text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .map((whole, place) => ({ line: place + 1, whole, text: whole.trim() }))
    .filter((line) => !/^[,;\s]*$/.test(line.text));
  const separator = separatorOf(lines.slice(0, SAMPLE_LINES));
  const rows = lines.map(({ line, whole, text: trimmed }) => ({
    line,
    text: trimmed,
    cells: cellsOfLine(whole, separator),
  }));
  const account = accountColumn(describe(rows), rows.length);
  const isHeader = isHeaderRow(rows[0]?.cells, account);
  const [header] = isHeader ? rows.splice(0, 1) : [];
  const columns = describe(rows).map((column) => ({ ...column, name: header?.cells[column.index] ?? '' }));
  return { rows, columns, header: header?.text, account };
}

/** The separator that leaves the most lines with an address in the same column. */
function separatorOf(lines) {
  const counts = SEPARATORS.map((separator) => {
    const rows = lines.map(({ whole }) => ({ cells: cellsOf(whole, separator) }));
    return Math.max(0, ...describe(rows).map(({ addressCount }) => addressCount));
  });
  return SEPARATORS[counts.indexOf(Math.max(...counts))];
}

/** A typed list may have a line with another separator. It is tried only where the list's own is not in the line. */
function cellsOfLine(line, separator) {
  const cells = cellsOf(line, separator);
  if (cells === undefined || cells.length > 1 || isAddress(cells[0])) return cells;
  for (const other of SEPARATORS) {
    const found = cellsOf(line, other);
    if (found?.some(isAddress)) return found;
  }
  return cells;
}

const PATTERNS = new Map(
  SEPARATORS.map((separator) => {
    const end = separator === ' ' ? '(?: +|$)' : ` *(?:${separator}|$)`;
    return [
      separator,
      {
        quoted: new RegExp(`^ *"((?:[^"]|"")*)"${end}`),
        plain: new RegExp(`^([^${separator}]*)${end.replace(/^ \*/, '')}`),
      },
    ];
  }),
);

/** The cells of a line, without quotes and blanks; undefined if a quote is not closed. */
function cellsOf(line, separator) {
  const { quoted, plain } = PATTERNS.get(separator);
  const cells = [];
  let rest = separator === ' ' ? line.trim() : line;
  while (cells.length < COLUMNS_MAX) {
    const isQuoted = /^ *"/.test(rest);
    const found = (isQuoted ? quoted : plain).exec(rest);
    if (!found) return undefined;
    const [all, cell] = found;
    cells.push((isQuoted ? cell.replaceAll('""', '"') : cell).trim());
    if (all.length === rest.length) break;
    rest = rest.slice(all.length);
  }
  return cells;
}

/** What each column holds. */
function describe(rows) {
  const columns = [];
  for (const { cells = [] } of rows)
    for (const [index, cell] of cells.entries()) {
      columns[index] ??= {
        index,
        filledCount: 0,
        addressCount: 0,
        isNumeric: true,
        isInteger: true,
        sample: '',
      };
      if (cell === '') continue;
      const column = columns[index];
      if (column.filledCount === 0) column.sample = cell;
      column.filledCount += 1;
      if (isAddress(cell)) column.addressCount += 1;
      if (column.isNumeric) column.isNumeric = NUMBER.test(cell);
      if (column.isInteger) column.isInteger = INTEGER.test(cell);
    }
  return columns;
}

const isHeaderRow = (cells, account = 0) =>
  cells !== undefined && !cells.some(isAddress) && HEADER.test(cells[account] ?? '');
