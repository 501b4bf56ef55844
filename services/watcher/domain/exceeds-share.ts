import { SHARE_TOLERANCE, type Watch } from '#shared/contracts/watches/watch.ts';

/**
 * Whether a role's revocations are held: they are more than the share of its holders, and at least
 * `atLeast`. The script of `mayRevoke` has the same bound.
 */
export const exceedsShare = (
  { share, atLeast }: Watch['massRevocation'],
  revocations: number,
  holders: number,
): boolean => revocations >= atLeast && revocations > share * holders + SHARE_TOLERANCE;

/**
 * Counts the held revocations of a role. After a release the role is not held any more, although
 * some of its revocations may not be sent yet.
 *
 * @param held by role id, the members whose revocation is held
 */
export const countHeld = (watch: Pick<Watch, 'held'>, held: ReadonlyMap<string, number>, roleId: string) =>
  watch.held.some(({ id }) => id === roleId) ? (held.get(roleId) ?? 0) : 0;
