import { FairShares } from '#shared/fair-shares.ts';
import { within } from '#shared/wait-for.ts';

/** How often all waiters look for themselves: the most that a lost notice can cost. */
const REREAD_INTERVAL_MS = 1_000;
/** The read before a 504. */
const LAST_LOOK_MS_MAX = 100;

/** Waiting for one result. */
export type Waiting = {
  /** The stored bytes; `undefined` when the time is up or the wait was cancelled. */
  readonly result: Promise<string | undefined>;
  /** Ends the wait: the client is gone, or there is nothing to wait for. */
  readonly cancel: () => void;
};

export type WaitOptions = {
  readonly requestId: string;
  readonly timeoutMs: number;
  /** The client app whose long poll it is, which ends when the process is stopping; a sync check is waited for. */
  readonly longPollOf?: string;
};

export type Waiters = Disposable & {
  /** Every wait belongs to a request in flight, so the bound on those bounds these. */
  readonly wait: (options: WaitOptions) => Waiting;
  /** Whether one more long poll of a client app may wait; sync checks always may. */
  readonly hasRoom: (clientId: string) => boolean;
  /** A notice from the reply channel. */
  readonly notice: (requestId: string) => void;
  /** Looks for every result that is waited for: notices may have been lost. */
  readonly reread: () => void;
  readonly endLongPolls: () => void;
  readonly count: () => number;
};

export type Dependencies = {
  /** In the order of the ids. */
  readonly readMany: (requestIds: readonly string[]) => Promise<(string | undefined)[]>;
  /** Asks for a notice: the message of an asynchronous check names nobody who would wait for it. */
  readonly want: (requestId: string, forMs: number) => Promise<void>;
  /**
   * Beyond it long polls are answered at once, so that they cannot take the place of checks. A client app may have as
   * many as are free.
   */
  readonly waitersMax: number;
};

type Waiter = {
  readonly requestId: string;
  readonly isLongPoll: boolean;
  end: (result: string | undefined) => void;
};

/**
 * Those who wait for results, sync checks and long polls alike:
 *
 *   waiting ──notice, re-read──► result there ──► answered
 *      └─────time is up──► one last read ──► answered or not
 *
 * A failed read is no answer: the waiter goes on and the next look finds the result.
 *
 * @example
 * const want = (requestId, forMs) => results.want(replyChannel, requestId, forMs);
 * const waiters = makeWaiters({ readMany: results.readMany, want, waitersMax: 10_000 });
 * const waiting = waiters.wait({ requestId, timeoutMs: 10_000 });
 */
export function makeWaiters({ readMany, want, waitersMax }: Dependencies): Waiters {
  const byId = new Map<string, Set<Waiter>>();
  const longPolls = new FairShares(waitersMax);
  let count = 0;

  const look = async (requestIds: readonly string[]): Promise<void> => {
    if (requestIds.length === 0) return;
    const found = await readMany(requestIds).catch(() => []);
    for (const [index, result] of found.entries()) {
      if (result === undefined) continue;
      for (const waiter of byId.get(requestIds[index] ?? '') ?? []) waiter.end(result);
    }
  };
  const reread = () => void look([...byId.keys()]);
  const timer = setInterval(reread, REREAD_INTERVAL_MS).unref();

  const add = (waiter: Waiter): void => {
    count += 1;
    const others = byId.get(waiter.requestId);
    if (others) others.add(waiter);
    else byId.set(waiter.requestId, new Set([waiter]));
  };
  /** False where it was removed before. */
  const remove = (waiter: Waiter): boolean => {
    const others = byId.get(waiter.requestId);
    if (!others?.delete(waiter)) return false;
    count -= 1;
    if (others.size === 0) byId.delete(waiter.requestId);
    return true;
  };

  return {
    wait({ requestId, timeoutMs, longPollOf }) {
      const isLongPoll = longPollOf !== undefined;
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      const waiter: Waiter = {
        requestId,
        isLongPoll,
        end(result) {
          clearTimeout(deadline);
          if (remove(waiter) && isLongPoll) longPolls.give(longPollOf);
          resolve(result);
        },
      };
      // A store that does not answer delays the answer by little: the deadline is the client's.
      const lastLook = () => within(LAST_LOOK_MS_MAX, look([requestId])).then(() => waiter.end(undefined));
      const deadline = setTimeout(() => void lastLook(), timeoutMs);
      add(waiter);
      if (isLongPoll) longPolls.take(longPollOf);
      // Then looked for once more: it may have been saved before anybody knew that it is wanted.
      if (isLongPoll)
        void want(requestId, timeoutMs).then(
          () => look([requestId]),
          () => undefined,
        );
      return { result: promise, cancel: () => waiter.end(undefined) };
    },
    hasRoom: (clientId) => count < waitersMax && longPolls.hasRoom(clientId),
    notice(requestId) {
      if (byId.has(requestId)) void look([requestId]);
    },
    reread,
    endLongPolls() {
      for (const waiters of byId.values()) {
        for (const waiter of waiters) if (waiter.isLongPoll) waiter.end(undefined);
      }
    },
    count: () => count,
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const waiters of byId.values()) for (const waiter of waiters) waiter.end(undefined);
    },
  };
}
