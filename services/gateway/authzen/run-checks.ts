import { type CheckResult, isRefunded } from '#shared/contracts/checks/result.ts';
import { describeError } from '#shared/errors.ts';
import { traceOf } from '#shared/http/exchange-trace.ts';
import { Problem, problemOf } from '#shared/http/problem.ts';
import type { Caller } from '../auth/authenticate.ts';
import { deadlineExceeded, deliveryOf, startCheck } from '../checks/accept-check.ts';
import type { Waiting } from '../checks/await-result.ts';
import { recordBytesOf } from '../checks/publish-check.ts';
import type { ValidCheck } from '../checks/validate-check.ts';
import type { Dependencies } from '../dependencies.ts';
import { addHeaders, type Response } from '../edge/exchange.ts';
import { rateHeadersAfterRefund } from '../limits/apply-limits.ts';

type Ended = { readonly result: CheckResult } | { readonly problem: Problem };

/** How a check ended; the first call runs it. */
export type EndOf = (check: ValidCheck) => Promise<Ended>;

export type ChecksToRun = {
  readonly caller: Pick<Caller, 'app' | 'keyId'>;
  /** At least one. */
  readonly checks: ReadonlySet<ValidCheck>;
  /** When the request arrived: `performance.now()`. */
  readonly arrivedAt: number;
};

/**
 * Admits the sync checks of one request as a whole. Each then runs as a check of its own, when it
 * is first asked for. Their memory counts until the answer: its decisions need them.
 *
 * @returns `finish` refunds the checks that never ran. It comes before the answer, whose headers
 *   tell what is left.
 * @throws Problem `rate-limited`, `monthly-quota-exceeded`: none of them is charged
 */
export async function runChecks(
  deps: Dependencies,
  { caller: { app, keyId }, checks, arrivedAt }: ChecksToRun,
  response: Response,
): Promise<{ readonly endOf: EndOf; readonly finish: () => Promise<void> }> {
  const toPublish = (check: ValidCheck) => ({
    app,
    keyId,
    check,
    delivery: deliveryOf(check, deps.replyChannel),
  });
  const bytesOf = (some: readonly ValidCheck[]): number =>
    some.reduce((sum, check) => sum + recordBytesOf(toPublish(check)), 0);
  const admitted = await deps.admitCheck(
    {
      app,
      lane: 'interactive',
      bytes: bytesOf([...checks]),
      cost: checks.size,
      places: checks.size,
      // The standard has none.
      idempotencyKey: undefined,
      bodyHash: () => '',
    },
    response,
  );
  const deadlineAtMs = admitted.nowMs + deps.syncDeadlineMs - (performance.now() - arrivedAt);
  const waits = new Set<Waiting>();
  response.once('close', () => {
    for (const waiting of waits) waiting.cancel();
  });
  const endings = new Map<ValidCheck, Promise<Ended>>();
  let isOverdue = false;
  let refundCount = 0;

  const run = async (check: ValidCheck): Promise<Ended> => {
    const requestId = deps.ids.makeId(
      deps.ids.makeSeed(),
      admitted.acceptedAtMs,
      'interactive',
      app.clientId,
    );
    const waiting = await startCheck(deps, {
      ...toPublish(check),
      admitted: { ...admitted, requestId },
      arrivedAt,
      deadlineAtMs,
      traceparent: traceOf(response),
      onWait: (each) => waits.add(each),
      onRefund: () => {
        refundCount += 1;
      },
    });
    try {
      const resultJson = await waiting?.result;
      isOverdue ||= resultJson === undefined;
      if (resultJson === undefined) return { problem: deadlineExceeded(requestId) };
      const result: CheckResult = JSON.parse(resultJson);
      // The result-store refunded the charge when it saved this result.
      if (isRefunded(result, check.rules.length)) refundCount += 1;
      return { result };
    } finally {
      waiting?.cancel();
    }
  };
  /** A check that could not be published leaves its own evaluations undetermined, and no others. */
  const end = (check: ValidCheck): Promise<Ended> =>
    run(check).catch((error: unknown) => {
      const problem = problemOf(error);
      if (problem.status !== SERVICE_UNAVAILABLE) throw error;
      return { problem };
    });

  return {
    endOf(check) {
      const known = endings.get(check);
      if (known) return known;
      // One after another, the earlier ones may have used up the time. A timer may end early: after
      // a check that waited until the deadline, the clock is not asked.
      isOverdue ||= endings.size > 0 && performance.now() - arrivedAt >= deps.syncDeadlineMs;
      if (isOverdue) return Promise.resolve({ problem: OVERDUE });
      const ending = end(check);
      endings.set(check, ending);
      return ending;
    },
    async finish() {
      const unrun = [...checks].filter((check) => !endings.has(check));
      const { clientId, accountId } = app;
      const { month, acceptedAtMs: atMs } = admitted;
      if (unrun.length > 0 && month !== undefined)
        await deps
          .refund({
            ...{ clientId, month, count: unrun.length },
            unwritten: { accountId, atMs, bytes: bytesOf(unrun) },
          })
          .catch((error: unknown) =>
            deps.log.warn({ error: describeError(error) }, 'checks that did not run could not be refunded'),
          );
      refundCount += unrun.length;
      if (refundCount > 0) addHeaders(response, rateHeadersAfterRefund(admitted.admission, refundCount));
    },
  };
}

const SERVICE_UNAVAILABLE = 503;
const OVERDUE = new Problem(
  'deadline-exceeded',
  'The deadline of the request passed before this check began.',
);
