import { createRemoteJWKSet, jwtVerify } from 'jose';

// https://…/.well-known/jwks.json of the gateway; read when it is needed, and cached.
const keys = createRemoteJWKSet(new URL(process.env.ROLECALL_JWKS_URL));
const audience = process.env.ROLECALL_CLIENT_ID; // app_…
// Without an audience, proofs of any app would be accepted.
if (!audience) throw new Error('ROLECALL_CLIENT_ID is missing');

/**
 * Verifies a signed verdict and returns its claims. Throws if it was changed, has expired or is for
 * another app. Compare `rulesDigest` with the rules that you expect, and tie `accounts` to the
 * session by other means.
 */
export async function verifyProof(proof) {
  const { payload } = await jwtVerify(proof, keys, {
    algorithms: ['EdDSA', 'ES256'],
    typ: 'rolecall-verdict+jwt',
    audience,
    requiredClaims: ['exp'],
  });
  return payload;
}
