import { createHash, createPublicKey, sign, verify } from 'node:crypto';
import { jwksOf, kidOfSeed, newProofKey, privateKeyOf, publicRingOf } from './proof-keys.ts';
import { parseKeyRing } from './secret-box.ts';

// RFC 8037, appendix A: the key, its public half and its thumbprint.
const SEED = Buffer.from('nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A', 'base64url');
const X = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
const THUMBPRINT = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
const RING = `3:${SEED.toString('base64')}`;

test('matches the key and the thumbprint of RFC 8037', () => {
  expect(jwksOf(parseKeyRing(publicRingOf(RING)))).toEqual({
    keys: [{ kty: 'OKP', crv: 'Ed25519', x: X, kid: THUMBPRINT, alg: 'EdDSA', use: 'sig' }],
  });
  expect(kidOfSeed(SEED)).toBe(THUMBPRINT);
});

test('the public ring verifies signatures of the private ring and holds none of its seeds', () => {
  const ring = publicRingOf(`${RING},9?:${Buffer.alloc(32, 9).toString('base64')}`);
  expect(ring).not.toContain(SEED.toString('base64'));
  const { keys } = jwksOf(parseKeyRing(ring));
  expect(keys).toHaveLength(2);
  const key = keys.find(({ kid }) => kid === THUMBPRINT);
  const publicKey = createPublicKey({ key: { ...key }, format: 'jwk' });
  const text = createHash('sha256').update('text').digest();
  expect(verify(null, text, publicKey, sign(null, text, privateKeyOf(SEED)))).toBe(true);
});

test('new keys differ', () => {
  expect(newProofKey(1).privateEntry).not.toBe(newProofKey(1).privateEntry);
});
