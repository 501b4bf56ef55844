import { createPublicKey, type KeyObject } from 'node:crypto';
import { createLocalJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import { type Jwks, verifyProof } from '#shared/client/index.ts';
import { jwksOf, parsePublicRing, publicRingOf } from '#shared/proof-keys.ts';
import { parseKeyRing } from '#shared/secret-box.ts';
import { makeProve } from '../../services/evaluator/lanes/sign-proof.ts';
import vectors from './proof-vectors.json' with { type: 'json' };

// Test vectors for verifiers in any language: keys, the time of the verification, and proofs to be
// accepted or refused. Ed25519 is deterministic, so the evaluator's own code must produce exactly
// these bytes; ECDSA is not.

/** It has no types of its own, and knows ES256 but not EdDSA. */
const jsonwebtoken = jest.requireActual<{
  readonly verify: (token: string, key: KeyObject, options: object) => JWTPayload;
}>('jsonwebtoken');

const nowMs = Date.parse(vectors.now);
const options = { jwks: vectors.jwks as unknown as Jwks, audience: vectors.audience, nowMs };
const keys = createLocalJWKSet(vectors.jwks);

const verifyByJose = async (proof: string): Promise<JWTPayload> => {
  const { payload } = await jwtVerify(proof, keys, {
    algorithms: ['EdDSA', 'ES256'],
    typ: 'rolecall-verdict+jwt',
    audience: vectors.audience,
    currentDate: new Date(nowMs),
  });
  return payload;
};

/** As its documentation advises: with the one key that the header names. */
const verifyByJsonWebToken = async (proof: string): Promise<JWTPayload> => {
  const { kid } = decodeProtectedHeader(proof);
  const jwk = vectors.jwks.keys.find((key) => key.kid === kid);
  if (jwk === undefined) throw new Error('no such key');
  return jsonwebtoken.verify(proof, createPublicKey({ key: { ...jwk }, format: 'jwk' }), {
    algorithms: ['ES256'],
    audience: vectors.audience,
    clockTimestamp: nowMs / 1_000,
  });
};

test('the evaluator signs the vectors byte for byte, with the keys of the document', () => {
  const { ring, request, result, jti, proof } = vectors.signed;
  const prove = makeProve({
    publicBaseUrl: vectors.publicBaseUrl,
    keys: parseKeyRing(ring),
    noteMissingKey: () => undefined,
  });
  expect(prove(request as Parameters<typeof prove>[0], result as Parameters<typeof prove>[1], jti)).toBe(
    proof,
  );
  expect(jwksOf(parsePublicRing(publicRingOf(ring)))).toEqual(vectors.jwks);
});

describe.each([
  ['jose', verifyByJose, vectors.cases],
  ['@rolecall/client', (proof: string) => verifyProof(proof, options), vectors.cases],
  ['jsonwebtoken', verifyByJsonWebToken, vectors.cases.filter(({ name }) => name.startsWith('ES256'))],
] as const)('%s', (_name, verify, cases) => {
  test.each(cases.filter(({ accepted }) => accepted))('accepts $name', async ({ proof, claims }) => {
    expect(await verify(proof)).toEqual(claims);
  });

  test.each(cases.filter(({ accepted }) => !accepted))('refuses $name', async ({ proof }) => {
    await expect(verify(proof)).rejects.toThrow();
  });
});
