import { foldRoles } from '#shared/contracts/checks/fold-roles.ts';
import type { RuleDetail } from '#shared/contracts/checks/result.ts';

/** A result line of a batch, as far as a table shows it. */
export type BatchLine = {
  readonly index: number;
  readonly account?: string;
  readonly accounts?: readonly string[];
  readonly ref?: string;
  /** In a preview of a watch: the last verdicts, by role id. */
  readonly before?: Readonly<Record<string, boolean>>;
  readonly status: string;
  readonly roles: readonly { readonly id: string; readonly granted: boolean }[];
  readonly errors: readonly {
    readonly ruleIndex?: number;
    readonly roleId?: string;
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
  }[];
  readonly blockNumbers: Readonly<Record<string, number>>;
  /** Where the batch asked for it. */
  readonly details?: readonly RuleDetail[];
};

const OWN_COLUMNS = ['index', 'id', 'wallets', 'status'] as const;

/** The columns that are about roles. */
type Columns = {
  readonly roleIds: readonly string[];
  /** Whether each role has a column with the verdict before, too. */
  readonly isPreview: boolean;
};

/**
 * The first row of a batch's results as CSV (RFC 4180): one column per role.
 *
 * @example
 * csvHeader({ roleIds: ['holder'], isPreview: false });
 * // '"index","id","wallets","status","role holder","errors","blocks"\r\n'
 */
export const csvHeader = ({ roleIds, isPreview }: Columns): string =>
  rowOf([
    ...OWN_COLUMNS,
    ...roleIds.flatMap((id) => [...(isPreview ? [`before ${id}`] : []), `role ${id}`]),
    ...['errors', 'blocks'],
  ]);

/** A member's row. A role that could not be read is `undetermined`, and never `denied`. */
export function csvRow(line: BatchLine, { roleIds, isPreview }: Columns): string {
  const errors = line.errors.flatMap(({ roleId, code }) => (roleId === undefined ? [] : { roleId, code }));
  const verdicts = foldRoles({ roles: line.roles, errors });
  return rowOf([
    String(line.index),
    line.ref ?? '',
    (line.accounts ?? [line.account ?? '']).join(' '),
    line.status,
    ...roleIds.flatMap((id) => {
      const before = line.before?.[id];
      const verdict = (line.status === 'failed' ? undefined : verdicts.get(id)) ?? 'undetermined';
      return [...(isPreview ? [before === undefined ? '' : before ? 'granted' : 'denied'] : []), verdict];
    }),
    line.errors.map(({ roleId, code }) => (roleId === undefined ? code : `${roleId}: ${code}`)).join(' '),
    Object.entries(line.blockNumbers)
      .map(([chainId, number]) => `${chainId}: ${number}`)
      .join(' '),
  ]);
}

/** Text that a spreadsheet may take for a formula, also behind white space and in full-width
 * letters. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/** A cell that begins like a formula gets an apostrophe, so that a spreadsheet shows it as text. */
function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

const rowOf = (cells: readonly string[]): string => `${cells.map(cellOf).join(',')}\r\n`;
