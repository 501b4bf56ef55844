import type { Watch } from '#shared/contracts/watch.ts';

/** Whether so many revocations of a role are held back: more than the share of its holders, and at least so many. */
export const exceedsShare = (
  { share, atLeast }: Watch['massRevocation'],
  revocations: number,
  holders: number,
): boolean => revocations >= atLeast && revocations > share * holders;
