import type { Account } from '#shared/contracts/apps/client-app.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Sessions } from '../features/sessions/sessions.ts';
import type { Request } from './answer.ts';
import { IdempotencyKey } from './api.ts';
import type { Operation } from './operation.ts';

export const SESSION_COOKIE = 'rolecall_session';

/**
 * The session's cookie. Over TLS its name has the prefix `__Host-`: browsers take such a cookie
 * only from the portal's own host, over TLS, so that no other host of the domain can plant a
 * session.
 */
export function sessionCookieOf(request: Request, origin: string | undefined) {
  const secure = origin?.startsWith('https:') ?? request.secure;
  return { name: secure ? `__Host-${SESSION_COOKIE}` : SESSION_COOKIE, secure };
}

/**
 * Refuses a write that does not come from the portal's own page, in addition to the cookie's
 * `SameSite=Strict`.
 *
 * Browsers send `Origin` with every such request; a request without it must have
 * `Sec-Fetch-Site: same-origin`. If no origin is configured, the origin must match the request's
 * `Host`.
 *
 * @throws Problem `origin-refused`
 */
export function requireOwnOrigin(request: Request, origin: string | undefined): void {
  const { origin: from, host = '' } = request.headers;
  if (from === undefined && request.headers['sec-fetch-site'] === 'same-origin') return;
  const isOwn = origin === undefined ? from === `${request.protocol}://${host}` : from === origin;
  if (!isOwn) throw new Problem('origin-refused', "The request does not come from the portal's own page.");
}

/** The session's token in the request's cookies, unchecked. */
export function tokenOf(request: Request, origin: string | undefined): string | undefined {
  const cookie = sessionCookieOf(request, origin);
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=');
    if (name === cookie.name && value) return value;
  }
  return undefined;
}

/** Whether the portal refuses an account everything but setting up its second factor. */
export const mustSetUpTwoFactor = (
  { operatorsNeedTwoFactor }: { readonly operatorsNeedTwoFactor: boolean },
  { operator, twoFactor }: Pick<Account, 'operator' | 'twoFactor'>,
): boolean => operatorsNeedTwoFactor && operator !== undefined && twoFactor === undefined;

/** @throws Problem `session-missing`, `two-factor-required`, `operator-required` */
export async function requireAccount(
  {
    sessions,
    config,
  }: {
    readonly sessions: Pick<Sessions, 'find'>;
    readonly config: { readonly operatorsNeedTwoFactor: boolean };
  },
  token: string | undefined,
  { access, method, isOpenWithoutTwoFactor }: Pick<Operation, 'access' | 'method' | 'isOpenWithoutTwoFactor'>,
): Promise<Account> {
  const account = token === undefined ? undefined : await sessions.find(token);
  if (!account) throw new Problem('session-missing', 'Sign in first.');
  if (!isOpenWithoutTwoFactor && mustSetUpTwoFactor(config, account))
    throw new Problem(
      'two-factor-required',
      'Set up two-factor authentication first: operators need it here.',
    );
  if (access === 'operator' && !account.operator)
    throw new Problem('operator-required', 'Only operators may do this.');
  if (access === 'operator' && method !== 'get' && account.operator !== 'change')
    throw new Problem('operator-required', 'Only operators who may change something may do this.');
  return account;
}

/** @throws Problem `idempotency-key-missing` */
export function requireIdempotencyKey(request: Request): string {
  const parsed = IdempotencyKey.safeParse(request.headers['idempotency-key']);
  if (!parsed.success)
    throw new Problem(
      'idempotency-key-missing',
      'Send a UUID in the Idempotency-Key header, one for each form.',
    );
  return parsed.data.toLowerCase();
}
