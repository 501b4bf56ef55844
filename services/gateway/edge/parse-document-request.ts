import type { z } from 'zod';
import { type Fault, faultsOfIssues, type Judged } from '#shared/contracts/fault.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { invalidBody } from '#shared/http/problem.ts';
import type { Param } from '#shared/http/serve-routes.ts';
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

/**
 * Reads id, preconditions and content of a write.
 *
 * @param content of a write with a body
 * @throws Problem with every fault of its address, its headers and its body
 */
export function parseWrite<C = undefined>(
  request: Request,
  param: Param,
  exampleId: string,
  content?: Judged<C>,
): Asked & { readonly content: C } {
  const id = idOf(param);
  const { preconditions, faults } = parsePreconditions(request.headers);
  if (id === undefined) faults.unshift(malformedId(exampleId));
  if (content?.ok === false) faults.push(...content.faults);
  if (id === undefined || faults.length > 0) throw invalidBody(faults);
  return { id, preconditions, content: (content?.ok ? content.value : undefined) as C };
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
 *
 * @throws Problem
 */
export function parseBody<S extends z.ZodType>(
  body: unknown,
  schema: S,
  fault: Pick<Fault, 'code' | 'detail'>,
): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw invalidBody(faultsOfIssues(parsed.error.issues, body, (_, pointer) => ({ pointer, ...fault })));
}
