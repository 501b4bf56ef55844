import { createLocalJWKSet, jwtVerify } from 'jose';
import { type Jwks, verifyProof } from '#shared/client/index.ts';
import { jwksOf, publicRingOf } from '#shared/proof-keys.ts';
import { parseKeyRing } from '#shared/secret-box.ts';
import { makeProve } from '../../services/evaluator/lanes/sign-proof.ts';
import vectors from './proof-vectors.json' with { type: 'json' };

// Test vectors for verifiers in any language: keys, the time of the verification, and proofs to be
// accepted or refused. Ed25519 is deterministic, so the evaluator's own code must produce exactly
// these bytes.

const nowMs = Date.parse(vectors.now);
const options = { jwks: vectors.jwks as Jwks, audience: vectors.audience, nowMs };

test('the evaluator signs the vectors byte for byte, with the keys of the document', () => {
  const { ring, request, result, jti, proof } = vectors.signed;
  const prove = makeProve({
    issuer: vectors.issuer,
    keys: parseKeyRing(ring),
    noteMissingKey: () => undefined,
  });
  expect(prove(request as Parameters<typeof prove>[0], result as Parameters<typeof prove>[1], jti)).toBe(
    proof,
  );
  expect(jwksOf(parseKeyRing(publicRingOf(ring)))).toEqual(vectors.jwks);
});

test.each(vectors.cases)('$name: accepted $accepted', async ({ proof, accepted, claims }) => {
  const byJose = jwtVerify(proof, createLocalJWKSet(vectors.jwks), {
    algorithms: ['EdDSA'],
    typ: 'rolecall-verdict+jwt',
    audience: vectors.audience,
    currentDate: new Date(nowMs),
  });
  if (accepted) {
    expect((await byJose).payload).toEqual(claims);
    expect(await verifyProof(proof, options)).toEqual(claims);
  } else {
    await expect(byJose).rejects.toThrow();
    await expect(verifyProof(proof, options)).rejects.toMatchObject({ name: 'RolecallError' });
  }
});
