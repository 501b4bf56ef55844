import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { type AppState, refuseApp } from '#shared/contracts/apps/refuse-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { Problem } from '#shared/http/problem.ts';
import { isAllowed, type Permission, roleOf } from '../domain/permissions.ts';
import { existing } from '../features/basis.ts';
import type { Sessions } from '../features/sessions/sessions.ts';
import type { Work } from '../features/work.ts';
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

type TwoFactorRule = { readonly operatorsNeedTwoFactor: boolean };
/** Whether the portal refuses an account everything but setting up its second factor. */
export const mustSetUpTwoFactor = (
  { operatorsNeedTwoFactor }: TwoFactorRule,
  { operator, twoFactor }: Pick<Account, 'operator' | 'twoFactor'>,
): boolean => operatorsNeedTwoFactor && operator !== undefined && twoFactor === undefined;

/** @throws Problem `session-missing`, `two-factor-required`, `operator-required` */
export async function requireAccount(
  { sessions, config }: { readonly sessions: Pick<Sessions, 'find'>; readonly config: TwoFactorRule },
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

/**
 * The one place where permissions are checked: before the handler of every operation on an app. An
 * app of others answers `not-found`, like one that does not exist.
 *
 * @param needs the state that the app must have; absent if any will do
 * @returns the app, and the account that owns it, whose limits count
 * @throws Problem `role-required`, `client-app-suspended`, `scope-not-approved`; ServiceError
 *   `not-found`
 */
export async function requirePermission(
  { apps, accounts }: Pick<Work, 'apps' | 'accounts'>,
  account: Account,
  clientId: string,
  permission: Permission,
  needs?: AppState,
): Promise<{ readonly app: ClientApp; readonly owner: Account }> {
  const app = await apps.read(clientId);
  const missing = `there is no client app ${clientId}`;
  const role = roleOf(app, account);
  if (!role) throw new ServiceError('not-found', missing);
  if (!isAllowed(role, permission))
    throw new Problem('role-required', `Your role in this app, ${role}, does not allow this.`);
  const refused = needs && refuseApp(app, needs);
  if (refused) throw new Problem(refused.code, refused.detail);
  const owner = role === 'owner' ? account : existing(await accounts.read(app.accountId), missing);
  return { app, owner };
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
