import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { PROOF_ALGS, type ProofAlg } from './contracts/checks/proof-claims.ts';
import { ServiceError } from './errors.ts';
import { type KeyRing, parseKeyRing } from './secret-box.ts';

/**
 * The keys of signed verdicts. A ring holds seeds of 32 bytes, in the form of every other ring; each
 * seed is an Ed25519 private key, and a P-256 private key is derived from it. The ring of public
 * keys has, for each number, both public keys.
 */

/** Bytes of a public key's coordinate, of either curve. */
const COORDINATE_BYTES = 32;
/** Of an entry of the public ring: Ed25519 x, then P-256 x and y. */
const PUBLIC_ENTRY_BYTES = 3 * COORDINATE_BYTES;

/** A PKCS #8 document of an Ed25519 key, up to the seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The order of the group of P-256 (FIPS 186-5). */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** 128 bits more than the order has, so that the remainder is not biased. */
const P256_MATERIAL_BYTES = 48;

/** A public key as JWKS publishes it (RFC 7518, RFC 8037). */
type ProofJwk = {
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
  readonly y?: string;
  readonly kid: string;
  readonly alg: ProofAlg;
  readonly use: 'sig';
};

export const privateKeyOf = (seed: Buffer, alg: ProofAlg): KeyObject =>
  alg === 'EdDSA'
    ? createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
    : p256KeyOf(seed);

function p256KeyOf(seed: Buffer): KeyObject {
  const material = Buffer.from(
    hkdfSync('sha256', seed, Buffer.alloc(0), 'rolecall-p256', P256_MATERIAL_BYTES),
  );
  const scalar = (BigInt(`0x${material.toString('hex')}`) % (P256_ORDER - 1n)) + 1n;
  const d = Buffer.from(scalar.toString(16).padStart(2 * COORDINATE_BYTES, '0'), 'hex');
  const curve = createECDH('prime256v1');
  curve.setPrivateKey(d);
  // After the byte that says that both coordinates follow.
  const [x = '', y = ''] = coordinatesOf(curve.getPublicKey().subarray(1));
  return createPrivateKey({
    key: { kty: 'EC', crv: 'P-256', d: d.toString('base64url'), x, y },
    format: 'jwk',
  });
}

const coordinatesOf = (bytes: Buffer): string[] =>
  Array.from({ length: bytes.length / COORDINATE_BYTES }, (_, index) =>
    bytes.subarray(index * COORDINATE_BYTES, (index + 1) * COORDINATE_BYTES).toString('base64url'),
  );

/** The members of a public key that its thumbprint hashes, in their order (RFC 7638). */
const membersOf = (publicEntry: Buffer, alg: ProofAlg) => {
  const [ed25519 = '', x = '', y = ''] = coordinatesOf(publicEntry);
  return alg === 'EdDSA' ? { crv: 'Ed25519', kty: 'OKP', x: ed25519 } : { crv: 'P-256', kty: 'EC', x, y };
};

/** The key's thumbprint (RFC 7638): equal numbers of two systems name different keys, their
 * thumbprints do not collide. */
const kidOf = (publicEntry: Buffer, alg: ProofAlg): string =>
  createHash('sha256')
    .update(JSON.stringify(membersOf(publicEntry, alg)))
    .digest('base64url');

export const kidOfSeed = (seed: Buffer, alg: ProofAlg): string => kidOf(publicEntryOf(seed), alg);

const publicEntryOf = (seed: Buffer): Buffer =>
  Buffer.concat(
    PROOF_ALGS.flatMap((alg) => {
      const { x = '', y = '' } = createPublicKey(privateKeyOf(seed, alg)).export({ format: 'jwk' });
      return [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
    }),
  );

/**
 * The public keys of a ring as a ring's text, for the gateway, which holds no signing key.
 *
 * @example
 * publicRingOf(process.env.ROLECALL_PROOF_KEYS); // '1:<base64 of 96 bytes>'
 * @throws ServiceError `config-invalid`
 */
export const publicRingOf = (ring: string): string =>
  [...parseKeyRing(ring).byNumber]
    .map(([number, seed]) => `${number}:${publicEntryOf(seed).toString('base64')}`)
    .join(',');

/**
 * Parses the text that `publicRingOf` makes.
 *
 * @throws ServiceError `config-invalid`
 */
export function parsePublicRing(text: string): KeyRing {
  const ring = parseKeyRing(text, PUBLIC_ENTRY_BYTES);
  for (const [number, entry] of ring.byNumber)
    try {
      for (const alg of PROOF_ALGS) createPublicKey({ key: membersOf(entry, alg), format: 'jwk' });
    } catch {
      throw new ServiceError('config-invalid', `entry ${number} is not the public half of a proof key`);
    }
  return ring;
}

/** The JWKS document (RFC 7517) of a ring of public keys, newest first. */
export const jwksOf = ({ byNumber }: Pick<KeyRing, 'byNumber'>): { readonly keys: readonly ProofJwk[] } => ({
  keys: [...byNumber]
    .sort(([a], [b]) => b - a)
    .flatMap(([, entry]) =>
      PROOF_ALGS.map((alg) => ({
        ...membersOf(entry, alg),
        kid: kidOf(entry, alg),
        alg,
        use: 'sig' as const,
      })),
    ),
});

/** A new key: its entries for the ring of the evaluators and for that of the gateways. */
export function newProofKey(number: number): {
  readonly privateEntry: string;
  readonly publicEntry: string;
  /** By algorithm. */
  readonly kids: Readonly<Record<ProofAlg, string>>;
} {
  const seed = randomBytes(COORDINATE_BYTES);
  const privateEntry = `${number}:${seed.toString('base64')}`;
  const kids = { EdDSA: kidOfSeed(seed, 'EdDSA'), ES256: kidOfSeed(seed, 'ES256') };
  return { privateEntry, publicEntry: publicRingOf(privateEntry), kids };
}
