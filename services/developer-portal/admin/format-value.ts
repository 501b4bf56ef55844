import Table from 'cli-table3';

type Row = Readonly<Record<string, unknown>>;

const INDENT = '  ';
/** A longer value has a separate section. */
const INLINE_CHARS_MAX = 80;
/** Control characters of the terminal: clients' names must not move the operator's cursor. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A value as text for a person: a list of objects as a table, an object as lines of name and value, a nested value under
 * its name. `--json` prints the same value for machines.
 *
 * @example
 * formatValue([{ clientId: 'app_1', suspended: false }]);
 * // clientId  suspended
 * // app_1     no
 */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return value.split('\n').map(printable).join('\n');
  if (isRowList(value)) return value.length === 0 ? 'none' : formatRows(value);
  if (isRow(value)) return formatRow(value);
  return cellOf(value);
}

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isRowList = (value: unknown): value is readonly Row[] => Array.isArray(value) && value.every(isRow);

/** Lines of name and value, then a section for each value that does not fit on a line. */
function formatRow(row: Row): string {
  const entries = Object.entries(row).filter(([, value]) => value !== undefined);
  const lines = entries.filter(([, value]) => isInline(value));
  const sections = entries.filter(([, value]) => !isInline(value));
  return [
    ...(lines.length > 0 ? [drawTable(lines.map(([name, value]) => [name, cellOf(value)]))] : []),
    ...sections.map(([name, value]) => `${name}:\n${indent(formatValue(value))}`),
  ].join('\n');
}

function formatRows(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return drawTable([names, ...rows.map((row) => names.map((name) => cellOf(row[name])))]);
}

/** A list of objects is a table, unless it is empty. */
function isInline(value: unknown): boolean {
  if (isRowList(value)) return value.length === 0;
  return !isRow(value) || cellOf(value).length <= INLINE_CHARS_MAX;
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(cellOf).join(', ');
  if (isRow(value))
    return Object.entries(value)
      .map(([name, one]) => `${printable(name)} ${cellOf(one)}`)
      .join(', ');
  return printable(String(value));
}

const printable = (text: string): string =>
  text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

const indent = (text: string): string => text.replace(/^/gm, INDENT);

/** Columns two spaces apart, without lines or colours, so that other tools can cut them. */
function drawTable(rows: readonly (readonly string[])[]): string {
  const table = new Table({
    chars: NO_LINES,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString().replace(/ +$/gm, '');
}

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};
