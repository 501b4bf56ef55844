import { PROOF_ALGS, PROOF_TYPE, type ProofClaims } from '../../contracts/checks/proof-claims.ts';
import { type ErrorCode, RolecallError } from '../http/rolecall-error.ts';
import { bytesOfBase64, bytesOfText } from './base64.ts';
import { ALGORITHMS, type Jwks, makeFindKey } from './jwks.ts';

export type VerifyProofOptions = {
  /** The gateway's `/.well-known/jwks.json`: its URL, or the document. */
  readonly jwks: Jwks | string | URL;
  /** The client id of the app whose checks you trust. */
  readonly audience: string;
  /** The issuer, if you know it: `<the gateway's public address>/apps/<client id>`. */
  readonly issuer?: string;
  /** The digest of the rules that you expect, such as a rule set's `digest`. */
  readonly rulesDigest?: string;
  /** How far the two clocks may differ; default 5. */
  readonly clockToleranceSeconds?: number;
  /** Epoch ms; default now. */
  readonly nowMs?: number;
  readonly fetch?: typeof globalThis.fetch;
};

const CLOCK_TOLERANCE_SECONDS = 5;
const PROOF_CHARS_MAX = 1_048_576;

/**
 * Verifies a signed verdict, of either algorithm, and returns its claims. A proof does not tell who
 * presents it: link `accounts` to the session by other means.
 *
 * @throws RolecallError `proof-invalid`, `proof-expired`, `proof-audience-mismatch`,
 *   `proof-key-unknown`, `jwks-invalid`
 *
 * @example
 * const claims = await verifyProof(result.proof, { jwks: 'https://api.example/.well-known/jwks.json', audience: 'app_…' });
 * claims.granted.includes('gold');
 */
export async function verifyProof(proof: string, options: VerifyProofOptions): Promise<ProofClaims> {
  if (!options.audience)
    throw new RolecallError('config-invalid', 'audience must be the client id of your app.');
  const findKey = makeFindKey(options.jwks, options.fetch ?? globalThis.fetch);
  const [header = '', payload = '', signature = '', ...rest] =
    typeof proof === 'string' && proof.length <= PROOF_CHARS_MAX ? proof.split('.') : [];
  const { alg, typ, kid } = parsePart(header);
  const signatureBytes = bytesOfBase64(signature);
  if (rest.length > 0 || !signatureBytes) throw invalid('It is not a compact JWS of three parts.');
  const known = PROOF_ALGS.find((each) => each === alg);
  if (known === undefined || typ !== PROOF_TYPE || typeof kid !== 'string')
    throw invalid(`Its header must have alg ${PROOF_ALGS.join(' or ')}, typ ${PROOF_TYPE} and a kid.`);
  const key = await findKey(kid);
  if (!key)
    throw new RolecallError(
      'proof-key-unknown',
      `No key of the JWKS document has kid ${kid}: the key is retired, or the proof is of another Rolecall.`,
    );
  const signed = bytesOfText(`${header}.${payload}`);
  // The key decides how it is used, not the header.
  if (key.alg !== known) throw invalid(`Key ${kid} is for ${key.alg}, not for ${known}.`);
  if (!(await crypto.subtle.verify(ALGORITHMS[known], key.key, signatureBytes, signed)))
    throw invalid('The signature does not match: the proof was changed.');
  const claims = parsePart(payload) as ProofClaims;
  const fault = faultOf(claims, options);
  if (fault) throw new RolecallError(...fault);
  return claims;
}

const invalid = (detail: string): RolecallError => new RolecallError('proof-invalid', detail);

function parsePart(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytesOfBase64(text)));
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // As anything else that is not an object.
  }
  throw invalid('It is not a compact JWS of three parts.');
}

function faultOf(claims: ProofClaims, options: VerifyProofOptions): readonly [ErrorCode, string] | undefined {
  const nowSeconds = (options.nowMs ?? Date.now()) / 1_000;
  const tolerance = options.clockToleranceSeconds ?? CLOCK_TOLERANCE_SECONDS;
  if (claims.aud !== options.audience)
    return [
      'proof-audience-mismatch',
      `The proof is for ${String(claims.aud)}, not for ${options.audience}.`,
    ];
  if (!(claims.exp > nowSeconds - tolerance))
    return [
      'proof-expired',
      `The proof expired at ${String(claims.exp)} (Unix seconds): ask for a new check.`,
    ];
  if (!(claims.iat < nowSeconds + tolerance)) return ['proof-invalid', 'The proof is from the future.'];
  if (options.issuer !== undefined && claims.iss !== options.issuer)
    return ['proof-invalid', `The proof is of ${String(claims.iss)}, not of ${options.issuer}.`];
  if (options.rulesDigest !== undefined && claims.rulesDigest !== options.rulesDigest)
    return ['proof-invalid', 'The proof is of other rules: rulesDigest differs.'];
  return undefined;
}
