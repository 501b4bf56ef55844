import type { AppAccess } from '#shared/contracts/client-app.ts';
import type { JsonBody } from '#shared/http/read-json-body.ts';
import { accessProblemOf } from './authenticate.ts';
import { parseIdempotencyKey } from './domain/parse-idempotency-key.ts';
import type { Request } from './exchange.ts';
import { invalidBody, Problem } from './problem.ts';
import type { ResolveRuleSet } from './resolve-rule-set.ts';
import { type ValidationRules, type ValidCheck, validateCheck } from './validate-check.ts';

/**
 * The check that a request asks for, or its first problem. The problem is returned and not thrown, because the limits
 * come first: an invalid request costs rate, and 429 outranks its problem.
 */
export type ParsedRequest =
  | { readonly ok: true; readonly check: ValidCheck; readonly idempotencyKey: string | undefined }
  | { readonly ok: false; readonly problem: Problem };

/** What requests are validated by, beside the app's tier. */
export type RequestRules = Omit<ValidationRules, 'isEnterprise' | 'stored'> & {
  readonly resolveRuleSet: ResolveRuleSet;
};

const refused = (problem: Problem): ParsedRequest => ({ ok: false, problem });

/** Checks the scope, then reads the body, then validates it: an app without access learns nothing about bodies. */
export async function parseRequest(
  request: Request,
  app: AppAccess,
  { resolveRuleSet, ...rules }: RequestRules,
  readBody: () => Promise<JsonBody>,
): Promise<ParsedRequest> {
  const denied = accessProblemOf(app);
  if (denied) return refused(denied);
  const body = await readBody();
  if (!body.ok) return refused(new Problem(body.code, body.detail));
  const validation = validateCheck(body.json, {
    ...rules,
    isEnterprise: app.limits.tier === 'enterprise',
    stored: await resolveRuleSet(app.clientId, body.json),
  });
  const header = request.headers['idempotency-key'];
  const idempotencyKey = typeof header === 'string' ? parseIdempotencyKey(header) : undefined;
  const isKeyMalformed = header !== undefined && idempotencyKey === undefined;
  const keyFaults = isKeyMalformed ? [MALFORMED_KEY] : [];
  if (!validation.ok) return refused(invalidBody([...validation.faults, ...keyFaults]));
  if (isKeyMalformed) return refused(invalidBody(keyFaults));
  return { ok: true, check: validation.check, idempotencyKey };
}

const MALFORMED_KEY = {
  pointer: '',
  code: 'idempotency-key-malformed',
  detail: 'The Idempotency-Key header must be 1 to 255 visible ASCII characters.',
} as const;
