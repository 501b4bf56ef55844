import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { type Fault, faultAt, type Judged } from '#shared/contracts/fault.ts';
import { invalidBody, Problem } from '#shared/http/problem.ts';
import type { Handle } from '#shared/http/serve-routes.ts';
import { parseBeforeLimits } from '../auth/admit-request.ts';
import { holding } from '../checks/accept-check.ts';
import { validateFor } from '../checks/parse-request.ts';
import type { ValidCheck } from '../checks/validate-check.ts';
import type { Dependencies } from '../dependencies.ts';
import { noteMode, type Request, type Response, sendJson } from '../edge/exchange.ts';
import { overloadOf } from '../limits/apply-limits.ts';
import { type Decision, decide } from './decide.ts';
import { DISTINCT_CHECKS_MAX } from './evaluation-bodies.ts';
import {
  asFaultOfEvaluation,
  type NeededDecision,
  parseEvaluations,
  roleUnknown,
  type Semantic,
} from './parse-evaluations.ts';
import { type ChecksToRun, type EndOf, runChecks } from './run-checks.ts';

type Entry = { readonly check: ValidCheck; readonly roleId: string } | { readonly problem: Problem };

type Evaluations = {
  /** Absent: a single evaluation was asked for. */
  readonly semantic: Semantic | undefined;
  readonly entries: readonly Entry[];
};

/**
 * Answers an evaluation operation of AuthZEN, each evaluation by the sync check of its rule set:
 * key → scope and permission → body → limits of all checks at once → broker → decisions. An
 * undetermined role is a problem where a single evaluation was asked for; in a list, its entry says
 * so.
 *
 * @param acceptsList whether the operation takes `evaluations`
 */
export function makeEvaluate(deps: Dependencies, acceptsList: boolean): Handle {
  return async function evaluate(request, response) {
    const arrivedAt = performance.now();
    const caller = await deps.authenticate(request, request.ip ?? '', { takesBearer: true });
    const asked = await parseBeforeLimits(deps, caller, response, async () => {
      const evaluations = await readEvaluations(deps, { ...caller, acceptsList }, request, response);
      const overload = overloadOf(deps.isOverloaded, 'interactive', caller.app);
      if (overload) throw overload;
      return evaluations;
    });
    noteMode(response, 'sync');
    const decisions = await decideAll(deps, { asked, caller, arrivedAt }, response);
    const [only] = decisions;
    if (asked.semantic !== undefined)
      sendJson(response, 200, JSON.stringify({ evaluations: decisions.map(answerOf) }));
    else if (only && 'answer' in only) sendJson(response, 200, JSON.stringify(only.answer));
    else throw only?.problem;
  };
}

/** The evaluations that a request asks for. @throws Problem of its body as a whole */
async function readEvaluations(
  deps: Dependencies,
  { app, acceptsList }: { readonly app: AppAccess; readonly acceptsList: boolean },
  request: Request,
  response: Response,
): Promise<Evaluations> {
  const body = await deps.readBody(request, response, app).catch((refusal: unknown) => {
    throw refusal instanceof Problem ? inStandard(refusal) : refusal;
  });
  const parsed = parseEvaluations(body, acceptsList);
  if ('faults' in parsed) throw badRequest(parsed.faults);
  const { semantic, entries } = parsed;
  const needed = new Map(entries.flatMap((entry) => ('key' in entry ? [[entry.key, entry.check]] : [])));
  if (needed.size > DISTINCT_CHECKS_MAX) throw badRequest([TOO_MANY_CHECKS]);
  // Before they are validated: no window of the rate has places for all of them.
  if (needed.size > app.limits.requestsPerSecond)
    await deps.applyLimits({ app, bucket: 'per-second', places: needed.size }, response);
  const validations = new Map<string, Judged<ValidCheck>>();
  for (const [key, check] of needed) {
    await deps.takeTurn(app);
    validations.set(key, await validateFor(app, check, holding(deps, response)));
  }
  const judged = entries.map((entry) =>
    'faults' in entry ? { problem: badRequest(entry.faults) } : judge(entry, validations.get(entry.key)),
  );
  const [only] = judged;
  if (semantic === undefined && only && 'problem' in only) throw only.problem;
  return { semantic, entries: judged };
}

function judge({ roleId, places }: NeededDecision, validation: Judged<ValidCheck> | undefined): Entry {
  if (!validation?.ok)
    return {
      problem: badRequest((validation?.faults ?? []).map((fault) => asFaultOfEvaluation(fault, places))),
    };
  const { value: check } = validation;
  const isKnown = check.rules.some((rule) => rule.roleId === roleId);
  return isKnown ? { check, roleId } : { problem: badRequest([roleUnknown(places)]) };
}

const TOO_MANY_CHECKS = faultAt(
  '/evaluations',
  'too-many',
  `must need at most ${DISTINCT_CHECKS_MAX} distinct checks, of subject, rule set and context`,
);

/** The refusal of a body as the standard knows it. */
function inStandard(refusal: Problem): Problem {
  if (refusal.code === 'media-type-unsupported') return new Problem('malformed-request', refusal.message);
  return refusal.code === 'validation-failed' ? asBadRequest(refusal) : refusal;
}

/** The standard knows no 422. */
const asBadRequest = ({ code, message, members }: Problem): Problem =>
  new Problem(code, message, { members, status: 400 });

const badRequest = (faults: readonly Fault[]): Problem => asBadRequest(invalidBody(faults));

/** Runs the checks and decides; the decisions are in the order of the entries. */
async function decideAll(
  deps: Dependencies,
  { asked, caller, arrivedAt }: Pick<ChecksToRun, 'caller' | 'arrivedAt'> & { readonly asked: Evaluations },
  response: Response,
): Promise<Decision[]> {
  const checks = new Set(asked.entries.flatMap((entry) => ('check' in entry ? [entry.check] : [])));
  if (checks.size === 0) {
    await deps.applyLimits({ app: caller.app, bucket: 'per-second' }, response);
    return decideEntries(asked, () => Promise.reject(new Error('no entry needs a check')));
  }
  const { endOf, finish } = await runChecks(deps, { caller, checks, arrivedAt }, response);
  // Also where one of them ends the request: the others are not charged.
  return decideEntries(asked, endOf).finally(finish);
}

/** All, or up to the one that decides the list. */
async function decideEntries(
  { semantic = 'execute_all', entries }: Evaluations,
  endOf: EndOf,
): Promise<Decision[]> {
  const decideOne = async (entry: Entry): Promise<Decision> => {
    if ('problem' in entry) return entry;
    const ended = await endOf(entry.check);
    return 'problem' in ended ? ended : decide(ended.result, entry.roleId, entry.check.onUndetermined);
  };
  if (semantic === 'execute_all') return Promise.all(entries.map(decideOne));
  const decisions: Decision[] = [];
  for (const entry of entries) {
    const decision = await decideOne(entry);
    decisions.push(decision);
    const isGranted = 'answer' in decision && decision.answer.decision;
    if (semantic === (isGranted ? 'permit_on_first_permit' : 'deny_on_first_deny')) break;
  }
  return decisions;
}

/** A decision in a list, where the standard has no other answer to an entry than true and false. */
function answerOf(decision: Decision): object {
  if ('answer' in decision) return decision.answer;
  const { status, message } = decision.problem;
  const error = { status: status === 400 ? 400 : 503, message };
  return { decision: false, context: { outcome: 'undetermined', error } };
}
