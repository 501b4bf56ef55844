import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** MAC keys by number. An id names its key, so that it can be verified after a newer one was
 * added. */
export type IdKeys = {
  /** The key of new ids. */
  readonly current: { readonly number: number };
  readonly byNumber: ReadonlyMap<number, Uint8Array>;
};

export const MAC_LENGTH = 12;

/**
 * Makes the function that authenticates what the gateway gives to a client and stores nowhere:
 * HMAC-SHA256, cut to 96 bits, over its bytes and the client id. It returns nothing for a key that
 * is not configured.
 *
 * @param purpose the MAC of one purpose is none of another
 */
export function makeIdMac({ byNumber }: IdKeys, purpose: string) {
  const secrets = new Map<number, KeyObject>();
  for (const [number, key] of byNumber) secrets.set(number, createSecretKey(key));
  return (keyNumber: number, signed: Uint8Array, clientId: string): Buffer | undefined => {
    const key = secrets.get(keyNumber);
    if (key === undefined) return undefined;
    const mac = createHmac('sha256', key).update(`${purpose}\0`).update(signed).update(clientId);
    return mac.digest().subarray(0, MAC_LENGTH);
  };
}
