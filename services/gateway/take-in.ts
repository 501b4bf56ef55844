import type { AppAccess } from '#shared/contracts/client-app.ts';
import { judgeAccess } from './authenticate.ts';
import { parseIdempotencyKey } from './domain/parse-idempotency-key.ts';
import type { Request } from './exchange.ts';
import { invalidBody, type Problem } from './problem.ts';
import type { Body } from './read-body.ts';
import { type ValidationRules, type ValidCheck, validateCheck } from './validate-check.ts';

/**
 * What a request asks for, or the first thing that is wrong with it. A fault is a value and not thrown, for the
 * limits come first: it costs rate, and 429 outranks it.
 */
export type Intake =
  | { readonly ok: true; readonly check: ValidCheck; readonly idempotencyKey: string | undefined }
  | { readonly ok: false; readonly problem: Problem };

const refused = (problem: Problem): Intake => ({ ok: false, problem });

/** Scope, then body, then its meaning: an app that may not ask learns nothing about bodies. */
export async function takeIn(
  request: Request,
  app: AppAccess,
  rules: Omit<ValidationRules, 'isEnterprise'>,
  readBody: () => Promise<Body>,
): Promise<Intake> {
  const denied = judgeAccess(app);
  if (denied) return refused(denied);
  const body = await readBody();
  if (!body.ok) return refused(body.problem);
  const validation = validateCheck(body.json, { ...rules, isEnterprise: app.limits.tier === 'enterprise' });
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
  detail: 'Idempotency-Key must be 1 to 255 visible characters.',
} as const;
