import type { z } from 'zod';
import { type Fault, faultsOfIssues, type Judged } from '#shared/contracts/fault.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { invalidBody, Problem } from '#shared/http/problem.ts';
import type { JsonBody } from '#shared/http/read-json-body.ts';
import type { Param } from '#shared/http/serve-routes.ts';
import type { Parsed } from '../auth/admit-request.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { Request } from './exchange.ts';
import { meetsPreconditions, type Preconditions, parsePreconditions } from './preconditions.ts';

/** The parameters of a write of a stored document, beside its content. */
export type Asked = { readonly id: string; readonly preconditions: Preconditions };

/** The id in the path; undefined if it cannot be one. */
export function idOf(param: Param): string | undefined {
  const id = param('id');
  return RULE_SET_ID.test(id) ? id : undefined;
}

/** Reads id and preconditions of a write; every fault of both. */
export function parseAsked(request: Request, param: Param, exampleId: string): Judged<Asked> & Parsed<Asked> {
  const id = idOf(param);
  const { preconditions, faults: headerFaults } = parsePreconditions(request.headers);
  const faults = [...(id === undefined ? [malformedId(exampleId)] : []), ...headerFaults];
  if (id === undefined || faults.length > 0) return { ok: false, faults, problem: invalidBody(faults) };
  return { ok: true, value: { id, preconditions } };
}

/** A write with its content, or the problem with every fault of its address, its headers and its
 * body. */
export function parseWrite<C>(
  asked: ReturnType<typeof parseAsked>,
  body: JsonBody,
  validate: (json: unknown) => Judged<C>,
): Parsed<Asked & { readonly content: C }> {
  if (!body.ok) return { ok: false, problem: new Problem(body.code, body.detail) };
  const validated = validate(body.json);
  if (asked.ok && validated.ok) return { ok: true, value: { ...asked.value, content: validated.value } };
  const faults = [...(asked.ok ? [] : asked.faults), ...(validated.ok ? [] : validated.faults)];
  return { ok: false, problem: invalidBody(faults) };
}

const malformedId = (exampleId: string): Fault => ({
  pointer: '',
  code: 'id-malformed',
  detail: `The id in the path must match ${RULE_SET_ID.source}, such as "${exampleId}".`,
});

/** A write of a stored document: whose, by which key, within which limits, over which versions. */
export const writeOf = ({ app, keyId }: Caller, { id, preconditions }: Asked) => ({
  clientId: app.clientId,
  accountId: app.accountId,
  id,
  actor: keyId,
  limits: app.limits,
  mayWrite: (version: number | undefined) => meetsPreconditions(preconditions, version),
});

/**
 * A body that its schema describes enough: unknown and missing members have faults of their own,
 * everything else the given one.
 */
export function parseBody<S extends z.ZodType>(
  body: JsonBody,
  schema: S,
  fault: Pick<Fault, 'code' | 'detail'>,
): Parsed<z.output<S>> {
  if (!body.ok) return { ok: false, problem: new Problem(body.code, body.detail) };
  const parsed = schema.safeParse(body.json);
  if (parsed.success) return { ok: true, value: parsed.data };
  const faults = faultsOfIssues(parsed.error.issues, body.json, (_, pointer) => ({ pointer, ...fault }));
  return { ok: false, problem: invalidBody(faults) };
}
