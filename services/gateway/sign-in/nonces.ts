import { timingSafeEqual } from 'node:crypto';
import { makeRandomHex } from '#shared/random-pool.ts';
import { type IdKeys, MAC_LENGTH, makeIdMac } from '../auth/id-macs.ts';

/**
 * A nonce is 29 bytes in lower-case hex (58 characters):
 *
 *   key number (1) | milliseconds since 1970 (6) | random (10) | MAC (12)
 *
 * Nothing is stored when it is issued: the MAC over the preceding bytes and the client id tells
 * that this app got it. Whether it has expired or was used is decided when a check is admitted.
 */
const HEAD_LENGTH = 7;
const RANDOM_LENGTH = 10;
const NONCE_LENGTH = HEAD_LENGTH + RANDOM_LENGTH + MAC_LENGTH;
const SHAPE = new RegExp(`^[0-9a-f]{${2 * NONCE_LENGTH}}$`);

export type Nonces = {
  issue(clientId: string, nowMs: number): string;
  /** When it was issued, epoch ms; `undefined` for a nonce that was not issued to this client. */
  issuedAtOf(nonce: string, clientId: string): number | undefined;
};

/**
 * Issues and reads the nonces of sign-in messages.
 *
 * @example
 * const nonces = makeNonces(keys);
 * nonces.issuedAtOf(nonces.issue('app_1', clock.now()), 'app_1'); // now
 * nonces.issuedAtOf(nonces.issue('app_1', clock.now()), 'app_2'); // undefined
 */
export function makeNonces(keys: IdKeys): Nonces {
  const randomHex = makeRandomHex(RANDOM_LENGTH);
  const macOf = makeIdMac(keys, 'nonce');
  return {
    issue(clientId, nowMs) {
      const { number } = keys.current;
      const bytes = Buffer.alloc(NONCE_LENGTH);
      bytes.writeUInt8(number, 0);
      bytes.writeUIntBE(nowMs, 1, 6);
      bytes.write(randomHex(), HEAD_LENGTH, 'hex');
      const mac = macOf(number, bytes.subarray(0, -MAC_LENGTH), clientId);
      if (mac === undefined) throw new RangeError('the current id key is not configured');
      mac.copy(bytes, NONCE_LENGTH - MAC_LENGTH);
      return bytes.toString('hex');
    },
    issuedAtOf(nonce, clientId) {
      if (!SHAPE.test(nonce)) return undefined;
      const bytes = Buffer.from(nonce, 'hex');
      const mac = macOf(bytes.readUInt8(0), bytes.subarray(0, -MAC_LENGTH), clientId);
      if (mac === undefined || !timingSafeEqual(mac, bytes.subarray(-MAC_LENGTH))) return undefined;
      return bytes.readUIntBE(1, 6);
    },
  };
}
