import * as client from 'openid-client';
import { dependencyUnavailable, Problem } from '#shared/http/problem.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { Email } from '../../http/api.ts';
import { sha256 } from '../apps/credentials.ts';

const TIMEOUT_S = 5;

export type IdentityProviderSettings = {
  readonly issuer: string;
  readonly clientId: string;
  /** Read for each exchange, so that a new secret needs no restart. */
  readonly readClientSecret: () => string;
  /** The portal's address in the browser, to which the provider returns. */
  readonly origin: string;
};

/** What an answer of the provider must fit: it was asked for by this browser, for this sign-in. */
type Expected = { readonly state: string; readonly nonce: string; readonly verifier: string };

/** A person, as the provider knows them. */
export type Identity = {
  /** SHA-256 of the issuer and of its id of the person, hex. */
  readonly subject: string;
  /** Verified by the provider. */
  readonly email: string;
};

export type IdentityProvider = ReturnType<typeof makeIdentityProvider>;

/**
 * An OpenID provider: authorization code with PKCE, state and nonce. The provider is looked up at the
 * first sign-in, so the portal starts and takes passwords while it is away.
 */
export function makeIdentityProvider(
  { issuer, clientId, readClientSecret, origin }: IdentityProviderSettings,
  log: Pick<Logger, 'warn'>,
) {
  const redirectUri = `${origin}/single-sign-on`;
  const authenticate: client.ClientAuth = (...exchange) =>
    client.ClientSecretBasic(readClientSecret())(...exchange);
  let found: Promise<client.Configuration> | undefined;
  const discover = () => {
    found ??= client
      .discovery(new URL(issuer), clientId, undefined, authenticate, {
        timeout: TIMEOUT_S,
        execute: [
          client.enableNonRepudiationChecks,
          ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
        ],
      })
      .catch((error: unknown) => {
        found = undefined;
        throw error;
      });
    return found;
  };
  /** @throws Problem `credentials-invalid` for a refusal or an answer that is not right,
   *   `dependency-unavailable` */
  const asProblem = (error: unknown): never => {
    log.warn({ issuer, code: codeOf(error) }, 'single sign-on failed');
    if (isAnswer(error))
      throw new Problem(
        'credentials-invalid',
        'The identity provider did not confirm this sign-in. Sign in again.',
      );
    throw dependencyUnavailable('The identity provider did not answer.');
  };
  return {
    /** The provider's page, and what its answer must fit. */
    async begin(): Promise<{ url: string; expected: Expected }> {
      const configuration = await discover().catch(asProblem);
      const expected = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const { href: url } = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid email',
        state: expected.state,
        nonce: expected.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(expected.verifier),
        code_challenge_method: 'S256',
      });
      return { url, expected };
    },
    /**
     * The person that an answer names.
     *
     * @param query with which the provider sent the browser back
     * @throws Problem `credentials-invalid`, also if the address is not verified
     */
    async finish({ state, nonce, verifier }: Expected, query: string): Promise<Identity> {
      const configuration = await discover().catch(asProblem);
      const told = await readClaims(configuration, new URL(`${redirectUri}?${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      }).catch(asProblem);
      const email = Email.safeParse(told.email);
      if (told.email_verified !== true || !email.success)
        throw new Problem(
          'credentials-invalid',
          'The identity provider names no verified e-mail address for you.',
        );
      return { subject: sha256(`${issuer} ${told.sub}`), email: email.data };
    },
  };
}

/** Of the ID token, or of the endpoint for claims if the token says nothing of the address. */
async function readClaims(
  configuration: client.Configuration,
  answer: URL,
  checks: client.AuthorizationCodeGrantChecks,
): Promise<{ sub: string; email?: unknown; email_verified?: unknown }> {
  const tokens = await client.authorizationCodeGrant(configuration, answer, checks);
  const claims = tokens.claims();
  if (!claims) throw new TypeError('an ID token was required');
  return claims['email'] === undefined
    ? client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
    : claims;
}

/** Whether the provider answered: with a refusal, or with something that is not right. */
const isAnswer = (error: unknown): boolean =>
  error instanceof client.AuthorizationResponseError ||
  (error instanceof client.ResponseBodyError && error.status < 500) ||
  (error instanceof client.ClientError && error.code !== 'OAUTH_TIMEOUT');

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
