import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import type { Problem } from '#shared/http/problem.ts';
import type { Admission, AdmitRequest } from '#shared/stores/checks/admit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Request, Response } from '../edge/exchange.ts';
import { accessProblemOf, type Caller } from './authenticate.ts';

/** A caller whose request is charged to the rate. */
export type Admitted = Caller & { readonly admission: Admission };

/**
 * Admits a request before anything of its content is read: key → rate → scope and permission.
 *
 * @param trialOf the least that the request may ask for: one that would be refused with it is
 *   refused in the step that charges its rate
 * @throws Problem of the first that refuses it
 */
export async function admitFirst(
  { authenticate, applyLimits }: Dependencies,
  request: Request,
  response: Response,
  bucket: 'per-second' | 'per-second-poll',
  trialOf: (app: AppAccess) => AdmitRequest['check'] = () => undefined,
): Promise<Admitted> {
  const caller = await authenticate(request, request.ip ?? '');
  const { app } = caller;
  const denied = accessProblemOf(caller, response);
  const admission = await applyLimits({ app, bucket, check: denied ? undefined : trialOf(app) }, response);
  if (denied) throw denied;
  return { ...caller, admission };
}

/** Admits a request that reads. */
export const admitRead = (deps: Dependencies, request: Request, response: Response): Promise<Admitted> =>
  admitFirst(deps, request, response, 'per-second-poll');

/** The parsed write, or its first problem. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

/**
 * Admits a request that writes: key → scope and permission → body → rate. An invalid request costs
 * rate, and 429 outranks its problem.
 *
 * @throws Problem of the first that refuses it
 */
export async function admitWrite<T>(
  { authenticate, applyLimits }: Dependencies,
  request: Request,
  response: Response,
  parse: (caller: Caller) => Promise<Parsed<T>>,
): Promise<{ readonly caller: Caller; readonly asked: T; readonly admission: Admission }> {
  const caller = await authenticate(request, request.ip ?? '');
  const denied = accessProblemOf(caller, response);
  const parsed: Parsed<T> = denied ? { ok: false, problem: denied } : await parse(caller);
  const admission = await applyLimits({ app: caller.app, bucket: 'per-second' }, response);
  if (!parsed.ok) throw parsed.problem;
  return { caller, asked: parsed.value, admission };
}
