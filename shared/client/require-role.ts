import { foldRoles, type RoleOutcome } from '../contracts/checks/fold-roles.ts';
import type { CheckResult } from './api-types.ts';
import { RolecallError } from './http/rolecall-error.ts';
import type { Rolecall, SyncCheck } from './rolecall.ts';

type Rules = Extract<SyncCheck, { readonly rules?: unknown }>['rules'];

export type RequireRoleOptions<Request> = {
  readonly client: Pick<Rolecall, 'check'>;
  /** The wallet, several wallets of one person, or how a request tells them; none is answered
   * 401. */
  readonly account:
    | Accounts
    | ((request: Request) => Accounts | undefined | null | Promise<Accounts | undefined | null>);
  /** These roles, all of them; default every role of the rules. */
  readonly roles?: readonly string[];
  /** Instead: at least one of these roles. */
  readonly anyOf?: readonly string[];
} & (
  | { readonly rules: NonNullable<Rules>; readonly ruleSet?: never }
  | { readonly ruleSet: string; readonly rules?: never }
);

type Accounts = string | readonly string[];

/** The part of an answer of Express, Connect or `node:http` that is used. */
export type NodeResponse = {
  statusCode: number;
  readonly headersSent?: boolean;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
};

/** The answer to a request that is not passed on. */
type Refusal = {
  readonly status: 401 | 403 | 503;
  readonly code: 'account-missing' | 'role-denied' | 'role-undetermined';
  readonly detail: string;
  readonly retryAfterSeconds?: number;
};

const RETRY_AFTER_SECONDS = 2;

/**
 * Express middleware: passes on requests of accounts that hold the roles. Denied is 403. An
 * undetermined role, or an unreachable Rolecall, is 503 with `Retry-After`, never 403. A refusal
 * that only the app can repair, such as a revoked API key, goes to `next(error)`: `error.status` is
 * 503 too, because the visitor may well hold the role, and `error.cause` is the `RolecallError`.
 *
 * @example
 * app.get('/vip', requireRole({ client: rolecall, account: (request) => request.user.wallet, rules }), handler);
 */
// biome-ignore lint/suspicious/noExplicitAny: the request's type is the framework's, and inferred where it is known
export function requireRole<Request = any>(options: RequireRoleOptions<Request>) {
  const judge = makeJudge(options);
  return (request: Request, response: NodeResponse, next: (error?: unknown) => void): void => {
    // An error that `next` itself throws is the app's: it must not call `next` again.
    judge(request).then((refusal) => (refusal ? refuse(response, refusal) : next()), next);
  };
}

function refuse(response: NodeResponse, refusal: Refusal): void {
  // A time limit of the application's own may have answered.
  if (response.headersSent) return;
  response.statusCode = refusal.status;
  for (const [name, value] of Object.entries(headersOf(refusal))) response.setHeader(name, value);
  response.end(bodyOf(refusal));
}

/**
 * The same for fetch handlers (Hono, Next, Workers): `next` makes the answer of a request that
 * passes. What goes to `next(error)` in Express is thrown.
 *
 * @example
 * const guard = requireRole.fetch({ client: rolecall, account: walletOf, rules });
 * export default { fetch: (request) => guard(request, () => new Response('Welcome')) };
 */
requireRole.fetch = function requireRoleOfFetch<FetchRequest = Request>(
  options: RequireRoleOptions<FetchRequest>,
) {
  const judge = makeJudge(options);
  return async (
    request: FetchRequest,
    next: (request: FetchRequest) => Response | Promise<Response>,
  ): Promise<Response> => {
    const refusal = await judge(request);
    return refusal
      ? new Response(bodyOf(refusal), { status: refusal.status, headers: headersOf(refusal) })
      : next(request);
  };
};

function makeJudge<Request>(options: RequireRoleOptions<Request>) {
  const { client, account, roles, anyOf, rules, ruleSet } = options;
  if (roles && anyOf)
    throw new RolecallError('config-invalid', 'requireRole takes roles or anyOf, not both.');
  if (roles?.length === 0 || anyOf?.length === 0)
    throw new RolecallError('config-invalid', 'requireRole needs at least one role in roles or anyOf.');
  const named = rules && new Set(rules.map(({ roleId }) => roleId));
  const unknown = (roles ?? anyOf)?.find((role) => named && !named.has(role));
  if (unknown !== undefined) throw unknownRole(unknown);
  const required = anyOf ?? roles ?? (named && [...named]);
  const outcomesOf = (held: ReadonlyMap<string, RoleOutcome>): RoleOutcome[] =>
    (required ?? [...held.keys()]).map((role) => {
      const outcome = held.get(role);
      if (outcome === undefined && !named) throw unknownRole(role);
      return outcome ?? 'undetermined';
    });
  const asked = rules ? { rules } : { ruleSet };
  return async (request: Request): Promise<Refusal | undefined> => {
    try {
      const accounts = typeof account === 'function' ? await account(request) : account;
      if (!accounts || accounts.length === 0) return ACCOUNT_MISSING;
      const who = typeof accounts === 'string' ? { account: accounts } : { accounts };
      const result: CheckResult = await client.check({ ...who, ...asked } as SyncCheck);
      return result.status === 'failed'
        ? undetermined(undefined)
        : refusalOf(combine(outcomesOf(foldRoles(result)), anyOf !== undefined));
    } catch (error) {
      if (!isOfRolecall(error)) throw error;
      const refusal = undetermined(error.retryAfterMs);
      if (error.isRetryable) return refusal;
      throw errorOf(refusal, error);
    }
  };
}

/** By name: two copies of the library may be installed. */
const isOfRolecall = (error: unknown): error is RolecallError =>
  error instanceof Error && error.name === 'RolecallError';

/**
 * Frameworks answer with the `status` of an error. That of a `RolecallError` is the gateway's
 * answer to the app: passed on, it would tell the visitor 401, 403 or 404.
 */
const errorOf = (refusal: Refusal, cause: RolecallError): Error =>
  Object.assign(new Error(`${refusal.detail} ${cause.message}`, { cause }), {
    status: refusal.status,
    headers: { 'cache-control': 'no-store', 'retry-after': String(refusal.retryAfterSeconds) },
  });

/** Three-valued: an undetermined role leaves the outcome open only where it could still change
 * it. */
function combine(outcomes: readonly RoleOutcome[], isAnyEnough: boolean): RoleOutcome {
  const [decisive, unanimous] = isAnyEnough
    ? (['granted', 'denied'] as const)
    : (['denied', 'granted'] as const);
  if (outcomes.includes(decisive)) return decisive;
  return outcomes.length > 0 && outcomes.every((outcome) => outcome === unanimous)
    ? unanimous
    : 'undetermined';
}

function refusalOf(outcome: RoleOutcome): Refusal | undefined {
  if (outcome === 'granted') return undefined;
  return outcome === 'denied' ? ROLE_DENIED : undetermined(undefined);
}

const ACCOUNT_MISSING: Refusal = {
  status: 401,
  code: 'account-missing',
  detail: 'The request names no account to check.',
};
const ROLE_DENIED: Refusal = {
  status: 403,
  code: 'role-denied',
  detail: 'The account does not hold the role.',
};
const undetermined = (retryAfterMs: number | undefined): Refusal => ({
  status: 503,
  code: 'role-undetermined',
  detail: 'The role could not be checked; try again later.',
  retryAfterSeconds: Math.max(1, Math.ceil((retryAfterMs ?? RETRY_AFTER_SECONDS * 1_000) / 1_000)),
});

const unknownRole = (role: string): RolecallError =>
  new RolecallError('config-invalid', `requireRole asks for role "${role}", which no rule grants.`);

const headersOf = ({ retryAfterSeconds }: Refusal): Record<string, string> => ({
  'content-type': 'application/problem+json',
  'cache-control': 'no-store',
  ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
});

const bodyOf = ({ status, code, detail }: Refusal): string =>
  JSON.stringify({ title: detail, status, code, detail });
