/** The longest time of a timer, 24 days: a timer with a longer one fires after 1 ms. */
const TIMER_MS_MAX = 2_147_483_647;

/** The bounds that stop a call: the caller's signal and a time limit. */
export function abortable(
  signal: AbortSignal | undefined,
  timeoutMs: number,
): { readonly signal: AbortSignal; readonly isTimedOut: () => boolean; readonly end: () => void } {
  const controller = new AbortController();
  let isTimedOut = false;
  const onAbort = () => controller.abort(signal?.reason);
  const timer = setTimeout(
    () => {
      isTimedOut = true;
      controller.abort(new Error(`nothing came for ${Math.round(timeoutMs)} ms`));
    },
    Math.min(timeoutMs, TIMER_MS_MAX),
  );
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    isTimedOut: () => isTimedOut,
    /** Gives up timer and listener. */
    end: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}

/** Waits, unless the signal ends it: then its reason is thrown. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      Math.min(ms, TIMER_MS_MAX),
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** A wait is up to so much longer, so that clients that were refused together do not all come back
 * together. */
const JITTER_SHARE = 0.5;
const JITTER_MS_MAX = 5_000;

/**
 * How long to wait: at least `leastMs`, and a random part more.
 *
 * @param random from 0 to 1
 */
export const jittered = (leastMs: number, random = Math.random()): number =>
  leastMs + random * Math.min(leastMs * JITTER_SHARE, JITTER_MS_MAX);

/** A `Retry-After` header, in seconds or as a date, in ms; `undefined` if it is missing or
 * invalid. */
export function retryAfterMsOf(header: string | null, nowMs = Date.now()): number | undefined {
  if (header === null) return undefined;
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
