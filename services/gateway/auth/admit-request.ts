import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { Problem } from '#shared/http/problem.ts';
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

export const admitRead = (deps: Dependencies, request: Request, response: Response): Promise<Admitted> =>
  admitFirst(deps, request, response, 'per-second-poll');

/**
 * Parses a request before its limits are applied: scope and permission → what it asks for. A
 * request that is refused here costs rate, and 429 outranks its problem.
 *
 * @throws Problem of the first that refuses it
 */
export async function parseBeforeLimits<T>(
  { applyLimits }: Pick<Dependencies, 'applyLimits'>,
  caller: Caller,
  response: Response,
  parse: () => Promise<T>,
): Promise<T> {
  try {
    const denied = accessProblemOf(caller, response);
    if (denied) throw denied;
    return await parse();
  } catch (refusal) {
    // A request that the limits themselves refuse does not enter the log of the rate, and where a
    // dependency is away there is no log. A body that meets a bug is not free.
    const isFree =
      refusal instanceof Problem ? refusal.code === 'rate-limited' : refusal instanceof ServiceError;
    if (!isFree) await applyLimits({ app: caller.app, bucket: 'per-second' }, response);
    throw refusal;
  }
}

/**
 * Admits a request that writes: key → scope and permission → body → rate.
 *
 * @throws Problem of the first that refuses it
 */
export async function admitWrite<T>(
  deps: Dependencies,
  request: Request,
  response: Response,
  parse: (caller: Caller) => Promise<T>,
): Promise<{ readonly caller: Caller; readonly asked: T; readonly admission: Admission }> {
  const caller = await deps.authenticate(request, request.ip ?? '');
  const asked = await parseBeforeLimits(deps, caller, response, () => parse(caller));
  const admission = await deps.applyLimits({ app: caller.app, bucket: 'per-second' }, response);
  return { caller, asked, admission };
}
