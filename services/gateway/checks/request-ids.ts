import { makeStamps, type StampKeys } from '../auth/stamps.ts';

const LANE_CODES = { interactive: 1, bulk: 2, batch: 3 } as const;

/** The lane of a check, or of a batch: an id tells which of the two it is. */
export type IssuedLane = keyof typeof LANE_CODES;
const LANES = Object.keys(LANE_CODES) as IssuedLane[];

export type RequestIds = ReturnType<typeof makeRequestIds>;

/**
 * Makes and reads request ids: stamps in base64url, 40 characters. So a poll is answered by 202, 404
 * or 410 although acceptance writes nothing.
 *
 * @example
 * const ids = makeRequestIds(keys);
 * const id = ids.makeId(ids.makeSeed(), clock.now(), 'bulk', 'app_1');
 * ids.readId(id, 'app_1'); // { issuedAtMs: …, lane: 'bulk' }
 * ids.readId(id, 'app_2'); // undefined
 */
export function makeRequestIds(keys: StampKeys) {
  const stamps = makeStamps(keys, 'request-id', 'base64url');
  return {
    makeSeed: stamps.makeSeed,
    /** The id of a seed and a time: a replay has the id of the first request. */
    makeId: (seed: string, issuedAtMs: number, issuedLane: IssuedLane, clientId: string): string =>
      stamps.make(seed, issuedAtMs, LANE_CODES[issuedLane], clientId),
    /** `undefined` for an id that was not issued to this client. */
    readId(id: string, clientId: string) {
      const stamp = stamps.read(id, clientId);
      const lane = LANES.find((each) => LANE_CODES[each] === stamp?.kind);
      return stamp && lane && { issuedAtMs: stamp.atMs, lane };
    },
  };
}

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
 * The state of a check without a stored result, by the age of its id alone: acceptance stores
 * nothing else.
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
