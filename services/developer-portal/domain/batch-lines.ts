import { z } from 'zod';
import { VerdictsBefore } from '#shared/contracts/batches/batch.ts';
import { foldRoles } from '#shared/contracts/checks/fold-roles.ts';
import { RoleVerdict, RuleDetail, RuleFault } from '#shared/contracts/checks/result.ts';
import { BlockNumbers } from '#shared/contracts/rules/rule.ts';
import { MemberNames } from '#shared/contracts/watches/presented-watch.ts';

/** A result line of a batch, as far as a table shows it. */
export const BatchLine = z.object({
  index: z.number().int().nonnegative(),
  ...MemberNames,
  before: VerdictsBefore.optional(),
  status: z.string(),
  roles: z.array(RoleVerdict),
  /** Of no rule where the whole entry failed. */
  errors: z.array(
    RuleFault.pick({ message: true, retryable: true, ruleIndex: true, roleId: true })
      .partial({ ruleIndex: true, roleId: true })
      .extend({ code: z.string() }),
  ),
  blockNumbers: BlockNumbers,
  /** Why, where the batch asked for it. */
  details: z.array(RuleDetail).optional(),
});
export type BatchLine = z.infer<typeof BatchLine>;

const OWN_COLUMNS = ['index', 'id', 'wallets', 'status'] as const;

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

const verdictsOf = ({ roles, errors }: BatchLine) =>
  foldRoles({
    roles,
    errors: errors.flatMap(({ roleId, code }) => (roleId === undefined ? [] : { roleId, code })),
  });

/** A member's row. A role that could not be read is `undetermined`, and never `denied`. */
export function csvRow(line: BatchLine, { roleIds, isPreview }: Columns): string {
  const verdicts = verdictsOf(line);
  return rowOf([
    String(line.index),
    line.ref ?? '',
    (line.accounts ?? [line.account ?? '']).join(' '),
    line.status,
    ...roleIds.flatMap((id) => {
      // An object without a role named `constructor` has a member of that name all the same.
      const before = Object.hasOwn(line.before ?? {}, id) ? line.before?.[id] : undefined;
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

/** Which entries of a batch are listed: all, those with a rule that could not be read, and in a
 * preview of a watch those who would gain or lose a role. */
export const SELECTIONS = ['all', 'unread', 'gained', 'lost'] as const;
type Selection = (typeof SELECTIONS)[number];

/**
 * Whether an entry is among those of a selection. Who gains or loses a role is counted as in the
 * status of the batch: a role that could not be read neither comes nor goes.
 *
 * @example
 * isSelected({ ...line, before: { vip: true }, roles: [{ id: 'vip', granted: false }] }, 'lost'); // true
 */
export function isSelected(line: BatchLine, selection: Selection): boolean {
  if (selection === 'all') return true;
  if (selection === 'unread') return line.errors.length > 0 || line.status === 'failed';
  const changed = rolesChanged(line);
  return changed.some(({ granted }) => granted === (selection === 'gained'));
}

/** The roles that an entry of a preview would gain or lose. */
export function rolesChanged(line: BatchLine) {
  if (line.status === 'failed') return [];
  const folded = verdictsOf(line);
  return Object.entries(line.before ?? {}).flatMap(([id, wasGranted]) => {
    const outcome = folded.get(id);
    const isChanged = outcome === (wasGranted ? 'denied' : 'granted');
    return isChanged ? [{ id, granted: !wasGranted }] : [];
  });
}
