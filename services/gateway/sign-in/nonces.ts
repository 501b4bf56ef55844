import { makeStamps, type StampKeys } from '../auth/stamps.ts';

const NONCE = 0;

export type Nonces = ReturnType<typeof makeNonces>;

/**
 * Issues and reads the nonces of sign-in messages: stamps in lower-case hex. Nothing is stored when
 * one is issued; whether it has expired or was used is decided when a check is admitted.
 *
 * @example
 * const nonces = makeNonces(keys);
 * nonces.issuedAtOf(nonces.issue('app_1', clock.now()), 'app_1'); // now
 * nonces.issuedAtOf(nonces.issue('app_1', clock.now()), 'app_2'); // undefined
 */
export function makeNonces(keys: StampKeys) {
  const stamps = makeStamps(keys, 'nonce', 'hex');
  return {
    issue: (clientId: string, nowMs: number): string =>
      stamps.make(stamps.makeSeed(), nowMs, NONCE, clientId),
    /** When it was issued, epoch ms; `undefined` for a nonce that was not issued to this client. */
    issuedAtOf: (nonce: string, clientId: string): number | undefined => stamps.read(nonce, clientId)?.atMs,
  };
}
