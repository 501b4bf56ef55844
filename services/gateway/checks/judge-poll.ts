/** The retention of results by lane; sync checks use the interactive lane. */
export type Retention = { readonly interactive: number; readonly bulk: number; readonly batch: number };

/**
 * The answer to a poll without a stored result:
 *
 *   issued ──(retention)──► expired ──(as long again)──► forgotten
 *   202                     410                          404
 */
type PollState = 'pending' | 'expired' | 'forgotten';

/**
 * The state of a check without a stored result, by the age of its id alone: acceptance stores nothing else.
 *
 * @param ageMs since the id was issued, by Redis's clock.
 * @example
 * judgePoll({ ageMs: 5, lane: 'bulk' }, { interactive: 3_600_000, bulk: 259_200_000, batch: 259_200_000 }); // 'pending'
 */
export function judgePoll(
  issued: { readonly ageMs: number; readonly lane: keyof Retention },
  retentionMs: Retention,
): PollState {
  const kept = retentionMs[issued.lane];
  if (issued.ageMs < kept) return 'pending';
  return issued.ageMs < 2 * kept ? 'expired' : 'forgotten';
}
