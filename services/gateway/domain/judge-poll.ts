import type { Lane } from '#shared/contracts/check-requested.ts';

/** How long results are kept, by lane: sync checks travel in the interactive one. */
export type Retention = Readonly<Record<Lane, number>>;

/**
 * What a poll is told where no result is stored:
 *
 *   issued ──(retention)──► expired ──(as long again)──► forgotten
 *   202                     410                          404
 */
export type PollState = 'pending' | 'expired' | 'forgotten';

/**
 * Judges a request id by its age alone; an accepted check has left nothing else behind.
 *
 * @param ageMs since the id was issued, by Redis's clock.
 * @example
 * judgePoll({ ageMs: 5, lane: 'bulk' }, { interactive: 3_600_000, bulk: 259_200_000 }); // 'pending'
 */
export function judgePoll(
  issued: { readonly ageMs: number; readonly lane: Lane },
  retentionMs: Retention,
): PollState {
  const kept = retentionMs[issued.lane];
  if (issued.ageMs < kept) return 'pending';
  return issued.ageMs < 2 * kept ? 'expired' : 'forgotten';
}
