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
