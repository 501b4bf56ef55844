/** The media type of a signed verdict: `typ` of its header. */
export const PROOF_TYPE = 'rolecall-verdict+jwt';

/** How a proof may be signed (RFC 7518, RFC 8037): Ed25519, or ECDSA on P-256. */
export const PROOF_ALGS = ['EdDSA', 'ES256'] as const;
export type ProofAlg = (typeof PROOF_ALGS)[number];

/** The claims of a signed verdict; `services/gateway/docs/pages/proofs.md` tells verifiers. */
export type ProofClaims = {
  readonly iss: string;
  readonly aud: string;
  readonly sub?: string;
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
  readonly accounts: readonly string[];
  readonly vaults?: readonly string[];
  readonly atBlock?: Readonly<Record<string, number>>;
  /** The granted roles that are scope tokens (RFC 6749), if all accounts have signed in. */
  readonly scope?: string;
  /** The accounts whose wallet has signed a message of this check. */
  readonly signedIn?: readonly string[];
  /** Of these messages: the authority of the page, in lower case. */
  readonly domain?: string;
  readonly nonce?: string;
  readonly granted: readonly string[];
  readonly denied: readonly string[];
  readonly undetermined: readonly string[];
  readonly blocks: Readonly<Record<string, { readonly number: number; readonly hash: string }>>;
  readonly rulesDigest: string;
};
