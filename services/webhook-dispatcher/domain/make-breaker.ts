/*
 * closed ──(≥ 10 attempts in 60 s, ≥ 70 % of them failed)──► open ──(30 s, doubling to 10 min)──► half-open
 *   ▲                                                         ▲                                     │
 *   └────────────────────── the probe succeeds ───────────────┼─────────────────────────────────────┤
 *                                                             └────────── the probe fails ──────────┘
 */
export type BreakerState = 'closed' | 'open' | 'half-open';

const ATTEMPTS_MIN = 10;
const FAILURE_SHARE_MIN = 0.7;
const WINDOW_MS = 60_000;
const OPEN_MS_MIN = 30_000;
const OPEN_MS_MAX = 600_000;
/** The window slides in steps of a sixth. */
const BUCKET_COUNT = 6;

type Bucket = { readonly step: number; attempts: number; failures: number };

/** Permission for one attempt. A half-open breaker admits one probe, whose result closes or opens
 * it. */
type Admission = 'attempt' | 'probe';

type Breaker = {
  /** Permission for an attempt, or `undefined`: no attempt now. */
  readonly admit: (nowMs: number) => Admission | undefined;
  /** Records the result of an admitted attempt; `failed` is undefined if the receiver was not
   * reached. */
  readonly record: (admission: Admission, failed: boolean | undefined, nowMs: number) => void;
  readonly state: (nowMs: number) => BreakerState;
};

/**
 * A circuit breaker for one receiver. Time is passed in and never read.
 *
 * @param scale multiplies the window and the open times, for tests. 1 in production.
 *
 * @example
 * const breaker = makeBreaker(1);
 * const admission = breaker.admit(nowMs);
 * if (admission) breaker.record(admission, failed, nowMs);
 */
export function makeBreaker(scale: number): Breaker {
  const stepMs = (WINDOW_MS * scale) / BUCKET_COUNT;
  let buckets: Bucket[] = [];
  let openMs = OPEN_MS_MIN * scale;
  let openUntilMs: number | undefined;
  let isProbing = false;

  const open = (nowMs: number) => {
    openUntilMs = nowMs + openMs;
    openMs = Math.min(openMs * 2, OPEN_MS_MAX * scale);
    buckets = [];
  };
  const close = () => {
    openUntilMs = undefined;
    openMs = OPEN_MS_MIN * scale;
    buckets = [];
  };
  const count = (failed: boolean, nowMs: number) => {
    const step = Math.floor(nowMs / stepMs);
    buckets = buckets.filter((bucket) => bucket.step > step - BUCKET_COUNT);
    const last = buckets.at(-1);
    const bucket = last?.step === step ? last : { step, attempts: 0, failures: 0 };
    if (bucket !== last) buckets.push(bucket);
    bucket.attempts += 1;
    if (failed) bucket.failures += 1;
    const attempts = buckets.reduce((sum, each) => sum + each.attempts, 0);
    const failures = buckets.reduce((sum, each) => sum + each.failures, 0);
    if (attempts >= ATTEMPTS_MIN && failures >= FAILURE_SHARE_MIN * attempts) open(nowMs);
  };

  return {
    admit(nowMs) {
      if (openUntilMs === undefined) return 'attempt';
      if (isProbing || nowMs < openUntilMs) return undefined;
      isProbing = true;
      return 'probe';
    },
    record(admission, failed, nowMs) {
      if (admission === 'probe') {
        isProbing = false;
        if (failed === false) close();
        if (failed === true) open(nowMs);
        return;
      }
      // Ignore attempts from before the breaker opened.
      if (openUntilMs === undefined && failed !== undefined) count(failed, nowMs);
    },
    state(nowMs) {
      if (openUntilMs === undefined) return 'closed';
      return isProbing || nowMs >= openUntilMs ? 'half-open' : 'open';
    },
  };
}
