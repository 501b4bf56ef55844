import { SHARE_TOLERANCE, type Watch } from '#shared/contracts/watches/watch.ts';

/**
 * Whether a role's revocations are held: they are more than the share of its holders, and at least `atLeast`. The script of
 * `mayRevoke` has the same bound.
 */
export const exceedsShare = (
  { share, atLeast }: Watch['massRevocation'],
  revocations: number,
  holders: number,
): boolean => revocations >= atLeast && revocations > share * holders + SHARE_TOLERANCE;
