import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import type { Fault, Judged } from '#shared/contracts/fault.ts';
import { invalidBody, type Problem } from '#shared/http/problem.ts';
import type { Request } from '../edge/exchange.ts';
import type { ResolveRuleSet } from '../rule-sets/cache-rule-sets.ts';
import type { RefuseSignIn } from '../sign-in/refuse-sign-in.ts';
import {
  asSent,
  type SentCheck,
  type ValidationRules,
  type ValidCheck,
  validateCheck,
} from './validate-check.ts';

/** A request that is refused now, though its check may have been accepted under this key. */
export type RefusedRequest = {
  readonly refusal: Problem;
  readonly sent: SentCheck;
  readonly idempotencyKey: string;
};
type ParsedRequest =
  | { readonly check: ValidCheck; readonly idempotencyKey: string | undefined }
  | RefusedRequest;

/** The configuration that requests are validated against, beside the tier of the app. */
export type RequestRules = Omit<ValidationRules, 'isEnterprise' | 'stored'> & {
  readonly resolveRuleSet: ResolveRuleSet;
  readonly refuseSignIn: RefuseSignIn;
};

/**
 * Validates the body and the idempotency key of a request. The caller's access was checked before:
 * without it, a caller learns nothing about bodies.
 *
 * @param refuse why a valid check is refused now
 * @throws Problem if no earlier request with its key can have been accepted
 */
export async function parseRequest(
  request: Request,
  app: AppAccess,
  body: unknown,
  rules: RequestRules,
  refuse: (check: ValidCheck) => Problem | undefined,
): Promise<ParsedRequest> {
  const validation = await validateFor(app, body, rules);
  const { idempotencyKey, faults: keyFaults } = readIdempotencyKey(request);
  const refuseUnless = (sent: () => SentCheck | undefined, refusal: Problem): ParsedRequest => {
    if (idempotencyKey === undefined) throw refusal;
    const earlier = sent();
    if (earlier === undefined) throw refusal;
    return { refusal, sent: earlier, idempotencyKey };
  };
  if (!validation.ok)
    return refuseUnless(() => asSent(body, rules), invalidBody([...validation.faults, ...keyFaults]));
  if (keyFaults.length > 0) throw invalidBody(keyFaults);
  const { value: check } = validation;
  const refusal = refuse(check);
  return refusal ? refuseUnless(() => check, refusal) : { check, idempotencyKey };
}

/** Validates a body by the tier of its app, after finding the rule set that it names. */
export const validateFor = async (
  { clientId, limits }: AppAccess,
  body: unknown,
  { resolveRuleSet, ...rules }: RequestRules,
): Promise<Judged<ValidCheck>> =>
  validateCheck(body, {
    ...rules,
    isEnterprise: limits.tier === 'enterprise',
    stored: await resolveRuleSet(clientId, body),
  });

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
