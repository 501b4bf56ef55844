import { createPublicKey, sign, verify } from 'node:crypto';
import { jwksOf, kidOfSeed, newProofKey, parsePublicRing, privateKeyOf, publicRingOf } from './proof-keys.ts';

// RFC 8037, appendix A: the key, its public half and its thumbprint.
const SEED = Buffer.from('nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A', 'base64url');
const X = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
const THUMBPRINT = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
/** Of the same seed, made by the Python package `cryptography`: HKDF-SHA-256 without salt, info
 * `rolecall-p256`, 48 bytes, mod (n − 1) + 1. */
const P256 = {
  x: 'jRUD1vRgzLcB_m6XGZMvc-40qm1PraDnuggkJ2ImC3M',
  y: 'eloDcwNYzsUiqsysg5srqLlF9mihqUgQ4EVoeg8wPkQ',
  kid: '3FM-RsR9RUCvFJPjllhHyrwku8_OjiaRgUsE8WQv9Js',
};
const RING = `3:${SEED.toString('base64')}`;

test('publishes both keys of a seed: that of RFC 8037, and the P-256 key that is derived from it', () => {
  expect(jwksOf(parsePublicRing(publicRingOf(RING)))).toEqual({
    keys: [
      { kty: 'OKP', crv: 'Ed25519', x: X, kid: THUMBPRINT, alg: 'EdDSA', use: 'sig' },
      { kty: 'EC', crv: 'P-256', ...P256, alg: 'ES256', use: 'sig' },
    ],
  });
  expect(kidOfSeed(SEED, 'EdDSA')).toBe(THUMBPRINT);
  expect(kidOfSeed(SEED, 'ES256')).toBe(P256.kid);
});

test.each([['EdDSA', null] as const, ['ES256', 'sha256'] as const])(
  'the public ring verifies %s signatures of the private ring and holds none of its seeds',
  (alg, digest) => {
    const ring = publicRingOf(`${RING},9?:${Buffer.alloc(32, 9).toString('base64')}`);
    expect(ring).not.toContain(SEED.toString('base64').slice(0, 40));
    const { keys } = jwksOf(parsePublicRing(ring));
    expect(keys.map((key) => key.alg)).toEqual(['EdDSA', 'ES256', 'EdDSA', 'ES256']);
    const key = keys.find(({ kid }) => kid === kidOfSeed(SEED, alg));
    const publicKey = createPublicKey({ key: { ...key }, format: 'jwk' });
    const text = Buffer.from('text');
    expect(verify(digest, text, publicKey, sign(digest, text, privateKeyOf(SEED, alg)))).toBe(true);
  },
);

test('refuses a public ring of another length, and one whose P-256 point is not on the curve', () => {
  expect(() => parsePublicRing(RING)).toThrow('96 bytes');
  const offCurve = Buffer.from(publicRingOf(RING).split(':')[1] ?? '', 'base64').fill(1, 64);
  expect(() => parsePublicRing(`3:${offCurve.toString('base64')}`)).toThrow('entry 3');
});

test('new keys differ', () => {
  expect(newProofKey(1).privateEntry).not.toBe(newProofKey(1).privateEntry);
});
