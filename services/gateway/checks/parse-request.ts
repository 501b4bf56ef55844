import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import type { Fault } from '#shared/contracts/fault.ts';
import { invalidBody, Problem } from '#shared/http/problem.ts';
import type { JsonBody } from '#shared/http/read-json-body.ts';
import type { Request } from '../edge/exchange.ts';
import type { ResolveRuleSet } from '../rule-sets/cache-rule-sets.ts';
import type { RefuseSignIn } from '../sign-in/refuse-sign-in.ts';
import {
  asSent,
  type SentCheck,
  type Validation,
  type ValidationRules,
  type ValidCheck,
  validateCheck,
} from './validate-check.ts';

/**
 * The check that a request asks for, or its first problem. The problem is returned and not thrown,
 * because the limits come first: an invalid request costs rate, and 429 outranks its problem.
 */
type ParsedRequest =
  | { readonly ok: true; readonly check: ValidCheck; readonly idempotencyKey: string | undefined }
  | {
      readonly ok: false;
      readonly problem: Problem;
      /** The check that may have been accepted under this key, before it had the problem. */
      readonly sent?: SentCheck | undefined;
      readonly idempotencyKey?: string | undefined;
    };

/** The configuration that requests are validated against, beside the tier of the app. */
export type RequestRules = Omit<ValidationRules, 'isEnterprise' | 'stored'> & {
  readonly resolveRuleSet: ResolveRuleSet;
  readonly refuseSignIn: RefuseSignIn;
};

export const refused = (problem: Problem): ParsedRequest => ({ ok: false, problem });

/** Reads the body and validates it. The caller's access was checked before: without it, a caller
 * learns nothing about bodies. */
export async function parseRequest(
  request: Request,
  app: AppAccess,
  rules: RequestRules,
  readBody: () => Promise<JsonBody>,
): Promise<ParsedRequest> {
  const body = await readBody();
  if (!body.ok) return refused(new Problem(body.code, body.detail));
  const validation = await validateFor(app, body.json, rules);
  const { idempotencyKey, faults: keyFaults } = readIdempotencyKey(request);
  if (!validation.ok) {
    const sent = idempotencyKey === undefined ? undefined : asSent(body.json, rules);
    return { ok: false, problem: invalidBody([...validation.faults, ...keyFaults]), sent, idempotencyKey };
  }
  if (keyFaults.length > 0) return refused(invalidBody(keyFaults));
  const { check } = validation;
  const problem = rules.refuseSignIn(app, check);
  return problem ? { ok: false, problem, sent: check, idempotencyKey } : { ok: true, check, idempotencyKey };
}

/** Validates a body by the tier of its app, after finding the rule set that it names. */
export const validateFor = async (
  { clientId, limits }: AppAccess,
  body: unknown,
  { resolveRuleSet, ...rules }: RequestRules,
): Promise<Validation> =>
  validateCheck(body, {
    ...rules,
    isEnterprise: limits.tier === 'enterprise',
    stored: await resolveRuleSet(clientId, body),
  });

/** The key of the `Idempotency-Key` header, or its fault. */
export function readIdempotencyKey(request: Request): {
  readonly idempotencyKey: string | undefined;
  readonly faults: readonly Fault[];
} {
  const header = request.headers['idempotency-key'];
  const idempotencyKey = typeof header === 'string' ? parseIdempotencyKey(header) : undefined;
  const isMalformed = header !== undefined && idempotencyKey === undefined;
  return { idempotencyKey, faults: isMalformed ? [MALFORMED_KEY] : [] };
}

const MALFORMED_KEY = {
  pointer: '',
  code: 'idempotency-key-malformed',
  detail: 'The Idempotency-Key header must be 1 to 255 visible ASCII characters.',
} as const;

/** 1 to 255 visible ASCII characters. */
const BARE = /^[\u0021-\u007e]{1,255}$/;
/** A string of RFC 9651: quoted, with `\"` and `\\`. */
const QUOTED = /^"((?:[\u0020\u0021\u0023-\u005b\u005d-\u007e]|\\["\\])*)"$/;

/**
 * The key of an `Idempotency-Key` header: a structured-field string and the same text bare are one
 * key.
 *
 * @returns `undefined` for a malformed one.
 * @example
 * parseIdempotencyKey('"abc"') === parseIdempotencyKey('abc'); // true
 */
export function parseIdempotencyKey(header: string): string | undefined {
  const quoted = QUOTED.exec(header);
  const key = quoted ? (quoted[1] ?? '').replace(/\\(["\\])/g, '$1') : header;
  return BARE.test(key) ? key : undefined;
}
