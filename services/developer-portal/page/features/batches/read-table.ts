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
const ID_NAME =
  /(?:^|[^a-z])(?:id|ref|reference|member|user|username|name|nickname|handle|discord|telegram|e-?mail)s?(?:[^a-z]|$)/i;
/** As in `userId`, but not in `paid`. */
const CAMEL_ID_NAME = /[a-z]I[dD]$/;
const AMOUNT_NAME = /amount|balance|quantity|value|token|share|percent|pending/i;

/** `cells` are undefined if a quote is not closed. */
type Row = { line: number; text: string; cells: string[] | undefined };
type Column = ReturnType<typeof describe>[number];
/** A column with its name in the header. */
export type NamedColumn = Column & { name: string };
/** A list of wallets: its rows without the header, its columns, the first line if it is taken for
 * a header, and the column of the addresses, undefined if several could be it. */
export type Table = {
  rows: Row[];
  columns: NamedColumn[];
  header: string | undefined;
  account: number | undefined;
};

export const isAddress = (text = '') => ADDRESS.test(text);

/**
 * Splits a list of wallets into rows and columns. Tabs, semicolons, commas or blanks separate the
 * columns; a byte-order mark, CRLF, quotes, blanks around cells, empty lines and a header are
 * tolerated. Line numbers count from 1, as an editor shows them.
 *
 * @example
 * readTable('id;wallet\n42;0x…').account; // 1
 */
export function readTable(text): Table {
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
  const columns = describe(rows).map((column) => ({ ...column, name: header?.cells?.[column.index] ?? '' }));
  return { rows, columns, header: header?.text, account };
}

/** The separator that leaves the most lines with an address in the same column. */
function separatorOf(lines) {
  const counts = SEPARATORS.map((separator) => {
    const rows = lines.map(({ whole }) => ({ cells: cellsOf(whole, separator) }));
    return Math.max(0, ...describe(rows).map(({ addressCount }) => addressCount));
  });
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ' ';
}

/** A typed list may have a line with another separator. It is tried only where the list's own is
 * not in the line. */
function cellsOfLine(line, separator) {
  const cells = cellsOf(line, separator);
  if (cells === undefined || cells.length > 1 || isAddress(cells[0])) return cells;
  for (const other of SEPARATORS) {
    const found = cellsOf(line, other);
    if (found?.some(isAddress)) return found;
  }
  return cells;
}

/** A cell at the beginning of a line, in quotes and without, by separator. */
const PATTERNS = new Map(
  SEPARATORS.map((separator) => {
    const end = separator === ' ' ? '(?: +|$)' : `(?:${separator}|$)`;
    const quoted = new RegExp(`^ *"((?:[^"]|"")*)" *${end}`);
    return [separator, { quoted, plain: new RegExp(`^([^${separator}]*)${end}`) }];
  }),
);

/** The cells of a line, without quotes and blanks; undefined if a quote is not closed. */
function cellsOf(line, separator) {
  const patterns = PATTERNS.get(separator);
  const cells: string[] = [];
  let rest = separator === ' ' ? line.trim() : line;
  while (cells.length < COLUMNS_MAX) {
    const isQuoted = /^ *"/.test(rest);
    const found = (isQuoted ? patterns?.quoted : patterns?.plain)?.exec(rest);
    if (!found) return undefined;
    const [all, cell = ''] = found;
    cells.push((isQuoted ? cell.replaceAll('""', '"') : cell).trim());
    if (all.length === rest.length) break;
    rest = rest.slice(all.length);
  }
  return cells;
}

/** What each column holds; `sample` is its first filled cell. */
function describe(rows: readonly Pick<Row, 'cells'>[]) {
  const width = rows.reduce((most, { cells = [] }) => Math.max(most, cells.length), 0);
  return Array.from({ length: width }, (_, index) => {
    const filled = rows.flatMap(({ cells }) => cells?.[index] || []);
    return {
      index,
      filledCount: filled.length,
      addressCount: filled.filter((cell) => isAddress(cell)).length,
      isNumeric: filled.every((cell) => NUMBER.test(cell)),
      isInteger: filled.every((cell) => INTEGER.test(cell)),
      sample: filled[0] ?? '',
    };
  });
}

const isHeaderRow = (cells, account = 0) =>
  cells !== undefined && !cells.some(isAddress) && HEADER.test(cells[account] ?? '');

/** The column with an address in most lines; undefined if there are several. */
function accountColumn(columns: readonly Column[], rowCount) {
  const most = Math.max(0, ...columns.map(({ addressCount }) => addressCount));
  const often = columns.filter(
    ({ addressCount }) => addressCount > 0 && (addressCount === most || addressCount * 2 >= rowCount),
  );
  if (often.length > 1) return undefined;
  return often[0]?.index ?? 0;
}

/**
 * The column of the caller's own id beside the addresses: by its name, or the only one with text.
 * Amounts and other addresses are not ids.
 * @returns null if there is none, undefined if the table does not tell
 */
export function idColumn({ columns, header }: Table, account): number | null | undefined {
  const others = columns.filter(
    (column) =>
      column.index !== account && column.filledCount > 0 && column.addressCount === 0 && !isAmount(column),
  );
  const [only] = others;
  if (!only) return null;
  const named = others.find(({ name }) => ID_NAME.test(name) || CAMEL_ID_NAME.test(name));
  if (named) return named.index;
  return header === undefined && others.length === 1 && !only.isNumeric ? only.index : undefined;
}

const isAmount = ({ name, isNumeric, isInteger }: NamedColumn) =>
  AMOUNT_NAME.test(name) || (isNumeric && !isInteger);
