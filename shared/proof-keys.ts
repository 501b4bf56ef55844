import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { type KeyRing, parseKeyRing } from './secret-box.ts';

/** The keys of signed verdicts: rings of Ed25519 keys, in the form of every other ring. */

/** A PKCS #8 document of an Ed25519 key, up to the seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A public key as JWKS publishes it (RFC 8037). */
type ProofJwk = {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly alg: 'EdDSA';
  readonly use: 'sig';
};

export const privateKeyOf = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });

/** The 32 bytes of the public key. */
const publicBytesOf = (seed: Buffer): Buffer =>
  Buffer.from(createPublicKey(privateKeyOf(seed)).export({ format: 'jwk' }).x ?? '', 'base64url');

/** The key's thumbprint (RFC 7638): equal numbers of two systems name different keys, their
 * thumbprints do not collide. */
const kidOf = (publicBytes: Buffer): string => {
  const members = `{"crv":"Ed25519","kty":"OKP","x":"${publicBytes.toString('base64url')}"}`;
  return createHash('sha256').update(members).digest('base64url');
};

export const kidOfSeed = (seed: Buffer): string => kidOf(publicBytesOf(seed));

/**
 * The public halves of a ring as a ring's text, for the gateway, which holds no signing key.
 *
 * @example
 * publicRingOf(process.env.ROLECALL_PROOF_KEYS); // '1:<base64 of the public key>'
 * @throws ServiceError `config-invalid`
 */
export const publicRingOf = (ring: string): string =>
  [...parseKeyRing(ring).byNumber]
    .map(([number, seed]) => `${number}:${publicBytesOf(seed).toString('base64')}`)
    .join(',');

/** The JWKS document (RFC 7517) of a ring of public keys, newest first. */
export const jwksOf = ({ byNumber }: Pick<KeyRing, 'byNumber'>): { readonly keys: readonly ProofJwk[] } => ({
  keys: [...byNumber]
    .sort(([a], [b]) => b - a)
    .map(([, publicBytes]) => ({
      kty: 'OKP',
      crv: 'Ed25519',
      x: publicBytes.toString('base64url'),
      kid: kidOf(publicBytes),
      alg: 'EdDSA',
      use: 'sig',
    })),
});

/** A new key: its entries for the ring of the evaluators and for that of the gateways. */
export function newProofKey(number: number): {
  readonly privateEntry: string;
  readonly publicEntry: string;
  readonly kid: string;
} {
  const seed = randomBytes(32);
  const privateEntry = `${number}:${seed.toString('base64')}`;
  return { privateEntry, publicEntry: publicRingOf(privateEntry), kid: kidOfSeed(seed) };
}
