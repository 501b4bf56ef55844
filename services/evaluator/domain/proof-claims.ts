import type { CheckRequested, ProofRequest, Wallets } from '#shared/contracts/checks/check-requested.ts';
import { foldRoles, type RoleOutcome } from '#shared/contracts/checks/fold-roles.ts';
import type { ProofClaims } from '#shared/contracts/checks/proof-claims.ts';
import type { CheckResult } from '#shared/contracts/checks/result.ts';
import type { Consistency, OnUndetermined } from '#shared/contracts/rules/rule.ts';

/** The request's contribution to a proof: a check, or a part of a batch with one of its entries. */
export type ProvenRequest = Wallets & {
  readonly clientId: string;
  readonly onUndetermined: OnUndetermined;
  readonly consistency: Pick<Consistency, 'atBlock'>;
  readonly proof?: ProofRequest | undefined;
  /** Proved, all of them. */
  readonly signIn?: CheckRequested['signIn'];
};

/** The result's contribution to a proof. */
export type ProvenResult = Pick<CheckResult, 'status' | 'roles' | 'errors' | 'evaluatedAt' | 'blocks'>;

/**
 * The claims of a result's proof.
 *
 * @param publicBaseUrl without a slash at its end; empty if the gateway's address is not known
 * @param jti the request id, or `<requestId>.<index>` of a line of a batch
 * @example
 * claimsOf(check, check.proof, result, { publicBaseUrl: '', jti: check.requestId }).granted; // ['gold']
 */
export function claimsOf(
  request: ProvenRequest,
  { seconds, rulesDigest }: ProofRequest,
  result: ProvenResult,
  { publicBaseUrl, jti }: { readonly publicBaseUrl: string; readonly jti: string },
): ProofClaims {
  const accounts = (request.accounts ?? [request.account]).map((account) => account.toLowerCase());
  const iat = Math.floor(Date.parse(result.evaluatedAt) / 1_000);
  const outcomes = [...foldRoles(result)];
  const rolesThat = (...wanted: RoleOutcome[]) =>
    outcomes.filter(([, outcome]) => wanted.includes(outcome)).map(([role]) => role);
  const granted = rolesThat('granted');
  const { atBlock } = request.consistency;
  return {
    iss: issuerOf(publicBaseUrl, request.clientId),
    aud: request.clientId,
    ...(accounts.length === 1 && accounts[0] !== undefined ? { sub: accounts[0] } : {}),
    jti,
    iat,
    exp: iat + seconds,
    accounts,
    ...(request.vaults === undefined ? {} : { vaults: request.vaults }),
    ...(atBlock === undefined ? {} : { atBlock }),
    ...(request.signIn === undefined ? {} : signInClaims(request.signIn, accounts, granted)),
    granted,
    // The client asked for fail-closed: a role that could not be read is denied, and says that it
    // was not read.
    denied: request.onUndetermined === 'deny' ? rolesThat('denied', 'undetermined') : rolesThat('denied'),
    undetermined: rolesThat('undetermined'),
    blocks: Object.fromEntries(
      Object.entries(result.blocks).map(([chainId, { number, hash }]) => [chainId, { number, hash }]),
    ),
    rulesDigest,
  };
}

/** One issuer per client app, because its role ids mean something within the app only. */
const issuerOf = (publicBaseUrl: string, clientId: string): string =>
  publicBaseUrl === '' ? `urn:rolecall:${clientId}` : `${publicBaseUrl}/apps/${clientId}`;

/** The characters of a scope token (RFC 6749, 3.3). */
const SCOPE_TOKEN = /^[\u0021\u0023-\u005b\u005d-\u007e]+$/;
const SCOPE_CHARS_MAX = 4_096;

/** Who signed in, for which page and by which nonce; and the granted roles as a scope, if the proof
 * holds for nobody else. */
function signInClaims(
  { domain, nonce, wallets }: NonNullable<ProvenRequest['signIn']>,
  accounts: readonly string[],
  granted: readonly string[],
): Pick<ProofClaims, 'scope' | 'signedIn' | 'domain' | 'nonce'> {
  const signedIn = wallets.map(({ account }) => account.toLowerCase());
  const scope = granted.filter((role) => SCOPE_TOKEN.test(role)).join(' ');
  const isOfAll = accounts.every((account) => signedIn.includes(account));
  const hasScope = isOfAll && scope !== '' && scope.length <= SCOPE_CHARS_MAX;
  return { ...(hasScope ? { scope } : {}), signedIn, domain, nonce };
}
