import { timingSafeEqual } from 'node:crypto';
import { makeRandomHex } from '#shared/random-pool.ts';
import { type IdKeys, MAC_LENGTH, makeIdMac } from '../auth/id-macs.ts';

/**
 * A request id is 30 bytes in base64url (40 characters):
 *
 *   key number (1) | lane (1) | milliseconds since 1970 (6) | random (10) | MAC (12)
 *
 * The MAC is HMAC-SHA256, cut to 96 bits, over the preceding bytes and the client id. An id that
 * was not issued to this client fails it like a random one. So a poll is answered by 202, 404 or
 * 410 although acceptance writes nothing.
 */
const HEAD_LENGTH = 8;
const RANDOM_LENGTH = 10;
const ID_LENGTH = HEAD_LENGTH + RANDOM_LENGTH + MAC_LENGTH;
const SHAPE = /^[A-Za-z0-9_-]{40}$/;
const LANE_CODES = { interactive: 1, bulk: 2, batch: 3 } as const;

/** The lane of a check, or of a batch: an id tells which of the two it is. */
export type IssuedLane = keyof typeof LANE_CODES;
const LANE_OF_CODE = new Map<number, IssuedLane>(
  Object.entries(LANE_CODES).map(([lane, code]) => [code, lane as IssuedLane]),
);

/** The content of an id whose MAC is right. */
type IssuedId = { readonly issuedAtMs: number; readonly lane: IssuedLane };

export type RequestIds = {
  /** The key number and randomness of a future id, fixed before its time is known. */
  makeSeed(): string;
  /** The id of a seed and a time. The same arguments give the same id, so a replay has the id of
   * the first request. */
  makeId(seed: string, issuedAtMs: number, lane: IssuedLane, clientId: string): string;
  /** `undefined` for an id that was not issued to this client. */
  readId(id: string, clientId: string): IssuedId | undefined;
};

/**
 * Makes and reads request ids.
 *
 * @example
 * const ids = makeRequestIds(keys);
 * const id = ids.makeId(ids.makeSeed(), clock.now(), 'bulk', 'app_1');
 * ids.readId(id, 'app_1'); // { issuedAtMs: …, lane: 'bulk' }
 * ids.readId(id, 'app_2'); // undefined
 */
export function makeRequestIds(keys: IdKeys): RequestIds {
  const randomHex = makeRandomHex(RANDOM_LENGTH);
  const macOf = makeIdMac(keys, 'request-id');
  return {
    makeSeed: () => `${keys.current.number}.${randomHex()}`,
    makeId(seed, issuedAtMs, lane, clientId) {
      const [number = '', random = ''] = seed.split('.');
      const bytes = Buffer.alloc(ID_LENGTH);
      bytes.writeUInt8(Number(number), 0);
      bytes.writeUInt8(LANE_CODES[lane], 1);
      bytes.writeUIntBE(issuedAtMs, 2, 6);
      bytes.write(random, HEAD_LENGTH, 'hex');
      const mac = macOf(Number(number), bytes.subarray(0, -MAC_LENGTH), clientId);
      if (mac === undefined) throw new RangeError('the seed names an id key that is not configured');
      mac.copy(bytes, ID_LENGTH - MAC_LENGTH);
      return bytes.toString('base64url');
    },
    readId(id, clientId) {
      if (!SHAPE.test(id)) return undefined;
      const bytes = Buffer.from(id, 'base64url');
      const mac = macOf(bytes.readUInt8(0), bytes.subarray(0, -MAC_LENGTH), clientId);
      if (mac === undefined || !timingSafeEqual(mac, bytes.subarray(-MAC_LENGTH))) return undefined;
      const lane = LANE_OF_CODE.get(bytes.readUInt8(1));
      return lane && { issuedAtMs: bytes.readUIntBE(2, 6), lane };
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
