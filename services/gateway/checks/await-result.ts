import { FairShares, type Owner } from '#shared/fairness/fair-shares.ts';
import { startRepeating } from '#shared/repeat.ts';
import { parseNotice } from '#shared/stores/checks/results.ts';
import { within } from '#shared/wait-for.ts';

/** How often all waiters read their results: a lost notice costs at most this. */
const REREAD_INTERVAL_MS = 1_000;
/** Results read at once: a result that cannot be read in time fails at most these. */
const READ_MAX = 200;
/** How long the last read before a 504 may take. */
const LAST_READ_MS_MAX = 100;

export type Waiting = {
  /** The stored result; `undefined` after the timeout or `cancel`. */
  readonly result: Promise<string | undefined>;
  readonly cancel: () => void;
};

export type WaitOptions = {
  readonly requestId: string;
  readonly timeoutMs: number;
  /** For a long poll: its client app. Long polls end when the process stops; sync checks do not. */
  readonly longPollOf?: Owner;
};

export type Waiters = ReturnType<typeof makeWaiters>;

type Dependencies = {
  /** In the order of the ids. */
  readonly readMany: (requestIds: readonly string[]) => Promise<(string | undefined)[]>;
  /** Asks for a notice of a result, or returns it if it is stored: the message of an asynchronous
   * check names no reply channel. */
  readonly requestNotice: (requestId: string, forMs: number) => Promise<string | undefined>;
  /**
   * Long polls at once; more are answered at once, so that they leave room for checks. They are
   * shared by account, then by client app. Checks take none of these places: they would leave no
   * first one.
   */
  readonly waitersMax: number;
};

type Waiter = {
  readonly requestId: string;
  readonly isLongPoll: boolean;
  end: (result: string | undefined) => void;
};

/**
 * The waits for results, of sync checks and of long polls:
 *
 *   waiting ──notice or periodic read──► result found ──► answered
 *      └─────timeout──► one last read ──► answered, or not found
 *
 * A read that fails is ignored: the next one finds the result.
 */
export function makeWaiters({ readMany, requestNotice, waitersMax }: Dependencies) {
  const byId = new Map<string, Set<Waiter>>();
  const longPolls = new FairShares(waitersMax);
  let count = 0;

  const readResults = async (requestIds: readonly string[]): Promise<void> => {
    for (let at = 0; at < requestIds.length; at += READ_MAX) {
      const asked = requestIds.slice(at, at + READ_MAX);
      const found = await readMany(asked).catch(() => []);
      for (const [index, result] of found.entries())
        if (result !== undefined) endWaits(asked[index] ?? '', result);
    }
  };
  const endWaits = (requestId: string, result: string): void => {
    for (const waiter of byId.get(requestId) ?? []) waiter.end(result);
  };
  const rereading = startRepeating(() => readResults([...byId.keys()]), { intervalMs: REREAD_INTERVAL_MS });

  const add = (waiter: Waiter): void => {
    count += 1;
    const others = byId.get(waiter.requestId);
    if (others) others.add(waiter);
    else byId.set(waiter.requestId, new Set([waiter]));
  };
  /** Returns false if it was removed before. */
  const remove = (waiter: Waiter): boolean => {
    const others = byId.get(waiter.requestId);
    if (!others?.delete(waiter)) return false;
    count -= 1;
    if (others.size === 0) byId.delete(waiter.requestId);
    return true;
  };

  return {
    /** Each wait belongs to a request in flight, which has at most 16: their bound bounds waits too. */
    wait({ requestId, timeoutMs, longPollOf }: WaitOptions): Waiting {
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
      // Bounded: a store that does not answer must not delay the client's deadline.
      const lastRead = () =>
        within(LAST_READ_MS_MAX, readResults([requestId])).then(() => waiter.end(undefined));
      const deadline = setTimeout(() => void lastRead(), timeoutMs);
      add(waiter);
      if (isLongPoll) longPolls.take(longPollOf);
      if (isLongPoll)
        void requestNotice(requestId, timeoutMs).then(
          (result) => result !== undefined && endWaits(requestId, result),
          () => undefined,
        );
      return { result: promise, cancel: () => waiter.end(undefined) };
    },
    /** Whether a client app may start one more long poll; a sync check may always wait. */
    hasRoom: (app: Owner): boolean => longPolls.hasRoom(app),
    /** Called for a message of the reply channel. */
    notice(message: string): void {
      const { requestId, resultJson } = parseNotice(message);
      if (resultJson !== undefined) endWaits(requestId, resultJson);
      else if (byId.has(requestId)) void readResults([requestId]);
    },
    /** Reads every awaited result, because notices may have been lost. */
    reread: (): void => void rereading.run(),
    endLongPolls(): void {
      for (const waiters of byId.values()) {
        for (const waiter of waiters) if (waiter.isLongPoll) waiter.end(undefined);
      }
    },
    count: (): number => count,
    [Symbol.dispose](): void {
      rereading.stop();
      for (const waiters of byId.values()) for (const waiter of waiters) waiter.end(undefined);
    },
  };
}
