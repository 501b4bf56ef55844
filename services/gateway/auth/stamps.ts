import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { makeRandomHex } from '#shared/random-pool.ts';

/** MAC keys by number. A stamp names its key, so that it can be verified after a newer one was
 * added. */
export type StampKeys = {
  /** The key of new stamps. */
  readonly current: { readonly number: number };
  readonly byNumber: ReadonlyMap<number, Uint8Array>;
};

/**
 * A stamp is 30 bytes:
 *
 *   key number (1) | kind (1) | milliseconds since 1970 (6) | random (10) | MAC (12)
 */
const HEAD_LENGTH = 8;
const RANDOM_LENGTH = 10;
const MAC_LENGTH = 12;
const LENGTH = HEAD_LENGTH + RANDOM_LENGTH + MAC_LENGTH;

/**
 * Makes and reads texts that the gateway gives to a client and stores nowhere. The MAC is
 * HMAC-SHA256, cut to 96 bits, over the preceding bytes and the client id: a stamp that was not
 * issued to this client fails it like a random one.
 *
 * @param purpose a stamp of one purpose is none of another
 * @example
 * const stamps = makeStamps(keys, 'nonce', 'hex');
 * stamps.read(stamps.make(stamps.makeSeed(), clock.now(), 0, 'app_1'), 'app_1'); // { atMs: …, kind: 0 }
 */
export function makeStamps({ current, byNumber }: StampKeys, purpose: string, encoding: 'hex' | 'base64url') {
  const randomHex = makeRandomHex(RANDOM_LENGTH);
  const secrets = new Map([...byNumber].map(([number, key]) => [number, createSecretKey(key)]));
  const macOf = (bytes: Buffer, clientId: string): Buffer | undefined => {
    const key = secrets.get(bytes.readUInt8(0));
    const signed = bytes.subarray(0, -MAC_LENGTH);
    const mac = key && createHmac('sha256', key).update(`${purpose}\0`).update(signed).update(clientId);
    return mac?.digest().subarray(0, MAC_LENGTH);
  };
  return {
    /** The key number and randomness of a future stamp, fixed before its time is known. */
    makeSeed: (): string => `${current.number}.${randomHex()}`,
    /** The same arguments give the same stamp. */
    make(seed: string, atMs: number, kind: number, clientId: string): string {
      const [number = '', random = ''] = seed.split('.');
      const bytes = Buffer.alloc(LENGTH);
      bytes.writeUInt8(Number(number), 0);
      bytes.writeUInt8(kind, 1);
      bytes.writeUIntBE(atMs, 2, 6);
      bytes.write(random, HEAD_LENGTH, 'hex');
      const mac = macOf(bytes, clientId);
      if (mac === undefined) throw new RangeError('the seed names an id key that is not configured');
      mac.copy(bytes, LENGTH - MAC_LENGTH);
      return bytes.toString(encoding);
    },
    /** `undefined` for a text that was not issued to this client. */
    read(text: string, clientId: string): { readonly atMs: number; readonly kind: number } | undefined {
      const bytes = Buffer.from(text, encoding);
      if (bytes.length !== LENGTH || bytes.toString(encoding) !== text) return undefined;
      const mac = macOf(bytes, clientId);
      if (mac === undefined || !timingSafeEqual(mac, bytes.subarray(-MAC_LENGTH))) return undefined;
      return { atMs: bytes.readUIntBE(2, 6), kind: bytes.readUInt8(1) };
    },
  };
}
