import Table from 'cli-table3';

type Row = Readonly<Record<string, unknown>>;

/** A longer value has a section of its own. */
const INLINE_CHARS_MAX = 80;
/** Control characters of the terminal: clients' names must not move the operator's cursor. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A value as text for a person: a list of objects as a table, an object as lines of name and value,
 * a nested value under its name. `--json` prints the same value for machines.
 *
 * @example
 * formatValue([{ clientId: 'app_1', suspended: false }]);
 * // clientId  suspended
 * // app_1     no
 */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return value.split('\n').map(printable).join('\n');
  if (isRowList(value)) {
    const names = [...new Set(value.flatMap((row) => Object.keys(row)))];
    return drawTable([names, ...value.map((row) => names.map((name) => cellOf(row[name])))]);
  }
  if (!isRow(value)) return cellOf(value);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  const sections = entries.filter(
    ([, one]) => isRowList(one) || (isRow(one) && cellOf(one).length > INLINE_CHARS_MAX),
  );
  const lines = entries.filter((entry) => !sections.includes(entry));
  return [
    ...(lines.length > 0 ? [drawTable(lines.map(([name, one]) => [name, cellOf(one)]))] : []),
    ...sections.map(([name, one]) => `${name}:\n${formatValue(one).replace(/^/gm, '  ')}`),
  ].join('\n');
}

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isRowList = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRow);

function cellOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(cellOf).join(', ') || 'none';
  if (isRow(value))
    return Object.entries(value)
      .map(([name, one]) => `${printable(name)} ${cellOf(one)}`)
      .join(', ');
  return printable(String(value));
}

const printable = (text: string): string =>
  text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Columns two spaces apart, without lines or colours, so that other tools can cut them. */
function drawTable(rows: readonly (readonly string[])[]): string {
  const table = new Table({
    chars: NO_LINES,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString().replace(/ +$/gm, '');
}

const LINES =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid';
const NO_LINES = { ...Object.fromEntries(LINES.split(' ').map((name) => [name, ''])), middle: '  ' };
