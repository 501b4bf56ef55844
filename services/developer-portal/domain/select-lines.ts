import { foldRoles } from '#shared/contracts/checks/fold-roles.ts';
import type { BatchLine } from './batch-csv.ts';

/** Which entries of a batch are listed: all, those with a rule that could not be read, and in a
 * preview of a watch those who would gain or lose a role. */
export const SELECTIONS = ['all', 'unread', 'gained', 'lost'] as const;
export type Selection = (typeof SELECTIONS)[number];

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
export function rolesChanged({ status, before = {}, roles, errors }: BatchLine) {
  if (status === 'failed') return [];
  const unread = errors.flatMap(({ roleId }) => (roleId === undefined ? [] : { roleId }));
  const folded = foldRoles({ roles, errors: unread });
  return Object.entries(before).flatMap(([id, wasGranted]) => {
    const outcome = folded.get(id);
    const isChanged = outcome === (wasGranted ? 'denied' : 'granted');
    return isChanged ? [{ id, granted: !wasGranted }] : [];
  });
}
