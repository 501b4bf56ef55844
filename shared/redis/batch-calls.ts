import { ServiceError } from '#shared/errors.ts';
import { answerMissing, COMMAND_TIMEOUT_MS } from './connect.ts';
import { type PauseTolerantTimeout, startPauseTolerantTimeout } from './pause-tolerant-timeout.ts';

/** Calls that wait for their turn; each belongs to a request in flight, whose number is bounded
 * too. */
const WAITING_MAX = 100_000;

type Call<Q, A> = {
  readonly question: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
};

/** Calls that go out together, and are over together: at the latest `timeoutMs` after the first was
 * made. */
type Batch<Q, A> = { readonly calls: Call<Q, A>[]; readonly timeout: PauseTolerantTimeout; size: number };

type Options<Q> = {
  /** A bound on the questions of one call together; a question above it goes alone. */
  readonly sizeOf?: (question: Q) => number;
  readonly sizeMax?: number;
  /** Default `COMMAND_TIMEOUT_MS`. */
  readonly timeoutMs?: number;
};

/**
 * Gathers calls of one kind into few: requests made while a call is unanswered go out together in
 * the next call, in order. A lone call does not wait. Each answer costs Redis the same, but the two
 * processes far less.
 *
 * A call ends within `timeoutMs`; a call that has failed by then may still be carried out.
 *
 * @param ask answers questions in their order; a `ServiceError` in an answer's place is that
 *   question's own.
 * @throws ServiceError `overloaded` when too many wait
 * @example
 * const admit = batchCalls(64, (requests) => runScriptFor(requests));
 * const [a, b] = await Promise.all([admit(one), admit(two)]); // one call
 */
export function batchCalls<Q, A>(
  callsMax: number,
  ask: (questions: readonly Q[]) => Promise<readonly (A | ServiceError)[]>,
  { sizeOf = () => 0, sizeMax = 0, timeoutMs = COMMAND_TIMEOUT_MS }: Options<Q> = {},
): (question: Q) => Promise<A> {
  const waiting: Batch<Q, A>[] = [];
  let [waitingCount, isUnanswered, isScheduled] = [0, false, false];

  const schedule = (): void => {
    if (isScheduled || isUnanswered || waiting.length === 0) return;
    isScheduled = true;
    // The next tick of the event loop, so that all callers of this tick share one call.
    setImmediate(() => {
      isScheduled = false;
      void send();
    });
  };
  const remove = (batch: Batch<Q, A>): void => {
    const place = waiting.indexOf(batch);
    if (place < 0) return;
    waiting.splice(place, 1);
    waitingCount -= batch.calls.length;
  };
  const open = (): Batch<Q, A> => {
    const timeout = startPauseTolerantTimeout(timeoutMs, () => expire(batch));
    const batch: Batch<Q, A> = { calls: [], timeout, size: 0 };
    waiting.push(batch);
    return batch;
  };
  const expire = (batch: Batch<Q, A>): void => {
    remove(batch);
    const late = answerMissing();
    for (const { reject } of batch.calls) reject(late);
  };
  const send = async (): Promise<void> => {
    const batch = waiting[0];
    if (!batch) return;
    remove(batch);
    isUnanswered = true;
    try {
      const answers = await ask(batch.calls.map(({ question }) => question));
      for (const [index, { resolve, reject }] of batch.calls.entries()) {
        const answer = answers[index];
        if (answer === undefined)
          reject(new ServiceError('store-unavailable', 'Redis returned fewer replies than commands'));
        else if (answer instanceof ServiceError) reject(answer);
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of batch.calls) reject(error);
    } finally {
      batch.timeout.clear();
      isUnanswered = false;
      schedule();
    }
  };

  return (question) => {
    if (waitingCount >= WAITING_MAX)
      return Promise.reject(new ServiceError('overloaded', 'too many calls are waiting for Redis'));
    return new Promise((resolve, reject) => {
      const last = waiting.at(-1);
      const size = sizeOf(question);
      const hasRoom = last && last.calls.length < callsMax && last.size + size <= sizeMax;
      const batch = hasRoom ? last : open();
      batch.calls.push({ question, resolve, reject });
      batch.size += size;
      waitingCount += 1;
      schedule();
    });
  };
}
