const ID_NAME =
  /(?:^|[^a-z])(?:id|ref|reference|member|user|username|name|nickname|handle|discord|telegram|e-?mail)s?(?:[^a-z]|$)/i;
/** As in `userId`, but not in `paid`. */
const CAMEL_ID_NAME = /[a-z]I[dD]$/;
const AMOUNT_NAME = /amount|balance|quantity|value|token|share|percent|pending/i;

/** The column with an address in most lines; undefined if there are several. */
export function accountColumn(columns, rowCount) {
  const most = Math.max(0, ...columns.map(({ addressCount }) => addressCount));
  const often = columns.filter(
    ({ addressCount }) => addressCount > 0 && (addressCount === most || addressCount * 2 >= rowCount),
  );
  if (often.length > 1) return undefined;
  return often[0]?.index ?? 0;
}

/**
 * The column of the caller's own id beside the addresses: by its name, or the only one with text. Amounts and other
 * addresses are not ids.
 *
 * @returns null if there is none, undefined if the table does not tell
 */
export function idColumn({ columns, header }, account) {
  const others = columns.filter(
    (column) =>
      column.index !== account && column.filledCount > 0 && column.addressCount === 0 && !isAmount(column),
  );
  if (others.length === 0) return null;
  const named = others.find(({ name }) => ID_NAME.test(name) || CAMEL_ID_NAME.test(name));
  if (named) return named.index;
  const [only, ...more] = others;
  return header === undefined && more.length === 0 && !only.isNumeric ? only.index : undefined;
}

const isAmount = ({ name, isNumeric, isInteger }) => AMOUNT_NAME.test(name) || (isNumeric && !isInteger);
