import { HOUR_MS, MINUTE_MS } from '#shared/contracts/durations.ts';
import { DELIVERY_MS_MAX, type RetryTier } from '#shared/contracts/webhooks/webhook.ts';

/*
 * attempt   1    2     3      4     5     6      7      8
 * after     0   5 s  5 min  30 min 2 h   5 h   10 h   10 h    the attempt before, plus 0 to 20 %
 * total     0   5 s  5 min  35 min 2 h½  7 h½  17 h½  27 h½
 *
 * After the eighth: exhausted. `Retry-After` and deferrals lengthen the schedule, to at most 40 h.
 */
const SCHEDULE: readonly RetryTier[] = ['5s', '5m', '30m', '2h', '5h', '10h', '10h'];

const SECOND_MS = 1_000;

/** The delay of each tier, shortest first. */
const TIER_DELAYS_MS = [
  ['5s', 5 * SECOND_MS],
  ['5m', 5 * MINUTE_MS],
  ['30m', 30 * MINUTE_MS],
  ['2h', 2 * HOUR_MS],
  ['5h', 5 * HOUR_MS],
  ['10h', 10 * HOUR_MS],
] as const satisfies readonly (readonly [RetryTier, number])[];

/** The largest random share added to a delay, so that retries of one outage do not all arrive at
 * once. */
const JITTER_MAX = 0.2;

/** Attempts after the check or a resend, the first included. */
export const ATTEMPTS_MAX = SCHEDULE.length + 1;

type Clock = {
  readonly nowMs: number;
  /** When the delivery was first attempted or deferred. */
  readonly startedAtMs: number;
  /** From 0 to 1: where in the jitter's range. */
  readonly jitter: number;
  /** Multiplies every time of this file, for tests. 1 in production. */
  readonly scale: number;
};

type Retry = { readonly tier: RetryTier; readonly dueAtMs: number };

/** Whether a delivery is too old to be attempted again. */
export const isGivenUp = ({ nowMs, startedAtMs, scale }: Omit<Clock, 'jitter'>): boolean =>
  nowMs - startedAtMs > DELIVERY_MS_MAX * scale;

/**
 * Plans the attempt that follows a failed one.
 *
 * The tier is the smallest whose delay is at least the schedule's and at least `retryAfterMs` (a
 * receiver that asks for more than the longest tier gets the longest tier). Never earlier than the
 * tier's delay.
 *
 * @param attemptCount attempts made so far, this one included: from 1.
 * @param retryAfterMs the delay that the receiver asked for; not scaled.
 * @returns `undefined` when no attempt of the schedule or of the 40 h is left: the delivery is
 *   exhausted.
 *
 * @example
 * planRetry(1, undefined, { nowMs: 0, startedAtMs: 0, jitter: 0, scale: 1 }); // { tier: '5s', dueAtMs: 5000 }
 */
export function planRetry(
  attemptCount: number,
  retryAfterMs: number | undefined,
  clock: Clock,
): Retry | undefined {
  const scheduled = SCHEDULE[attemptCount - 1];
  if (scheduled === undefined) return undefined;
  const scheduledIndex = TIER_DELAYS_MS.findIndex(([tier]) => tier === scheduled);
  const candidates = TIER_DELAYS_MS.slice(scheduledIndex);
  const covering = candidates.find(([, delayMs]) => delayMs * clock.scale >= (retryAfterMs ?? 0));
  return dueIn(covering ?? candidates.at(-1), clock);
}

/** Why a delivery is deferred without an attempt at a receiver that may take none, and how often by
 * the 5 s tier before it climbs to the 5 min tier. */
const SHORT_DEFERRALS_MAX = {
  /** No slot is free at a receiver that failed last, or seems to hang. */
  hanging: 3,
  /** The breaker of a failing receiver is open. */
  breaker: 1,
  /** The signing secret cannot be opened. */
  secret: 1,
} as const;
type ClimbingReason = keyof typeof SHORT_DEFERRALS_MAX;

/** `slots`: no slot is free at a receiver that takes its messages; its backlog names the tier. */
export type Deferral =
  | { readonly reason: 'slots'; readonly tier: RetryTier }
  | { readonly reason: ClimbingReason };
export type DeferralReason = Deferral['reason'];
export const DEFERRAL_REASONS: readonly DeferralReason[] = [
  'slots',
  ...(Object.keys(SHORT_DEFERRALS_MAX) as ClimbingReason[]),
];

/** The tiers of deferrals: a receiver that answers again is noticed within 30 min. */
export const DEFERRAL_TIERS = [TIER_DELAYS_MS[0], TIER_DELAYS_MS[1], TIER_DELAYS_MS[2]] as const;

/**
 * Plans when a delivery that was deferred without an attempt is tried again. Its schedule does not
 * advance.
 *
 * For want of a slot it waits in the tier that the receiver's backlog names. For the other reasons
 * it waits 5 s at first, then 5 min, then 30 min each time: a receiver that takes nothing costs
 * at most 100 records in the 40 h of a webhook.
 *
 * @param waitedIn the tier of the record that is deferred, if it comes from one. No tier is
 *   skipped: a receiver that fails only now is asked again in 5 min at the latest, however often
 *   its messages had waited for a slot.
 * @returns `undefined` once the 40 h are over
 *
 * @example
 * planDeferral({ reason: 'breaker' }, 1, { nowMs: 0, startedAtMs: 0, jitter: 0, scale: 1 }); // { tier: '5m', dueAtMs: 300000 }
 */
export function planDeferral(
  deferral: Deferral,
  deferralCount: number,
  clock: Clock,
  waitedIn?: RetryTier,
): Retry | undefined {
  if (deferral.reason === 'slots') {
    // With jitter, because messages that come back together find few slots free.
    return dueIn(
      DEFERRAL_TIERS.find(([tier]) => tier === deferral.tier),
      clock,
    );
  }
  const climbed = Math.max(0, deferralCount - SHORT_DEFERRALS_MAX[deferral.reason] + 1);
  const next = 1 + TIER_DELAYS_MS.findIndex(([tier]) => tier === waitedIn);
  const index = Math.min(climbed, waitedIn === undefined ? climbed : next, DEFERRAL_TIERS.length - 1);
  return dueIn(TIER_DELAYS_MS[index], { ...clock, jitter: 0 });
}

function dueIn(tier: readonly [RetryTier, number] | undefined, clock: Clock): Retry | undefined {
  if (tier === undefined) return undefined;
  const dueAtMs = clock.nowMs + Math.ceil(tier[1] * clock.scale * (1 + JITTER_MAX * clock.jitter));
  return isGivenUp({ ...clock, nowMs: dueAtMs }) ? undefined : { tier: tier[0], dueAtMs };
}

/** Longer than any tier: larger values are cut to this. */
const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;

/**
 * Parses a `Retry-After` header (RFC 9110 10.2.3): whole seconds or an HTTP date.
 *
 * @returns milliseconds from `nowMs`, from 0 to 24 h, or `undefined` without a valid header.
 *
 * @example
 * parseRetryAfter('120', 0); // 120000
 */
export function parseRetryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined || text.length > 64) return undefined;
  const trimmed = text.trim();
  const delayMs = /^[0-9]+$/.test(trimmed) ? Number(trimmed) * SECOND_MS : parseHttpDate(trimmed) - nowMs;
  return Number.isNaN(delayMs) ? undefined : Math.min(Math.max(delayMs, 0), RETRY_AFTER_MS_MAX);
}

/** All three forms of an HTTP date begin with the name of the day; `Date.parse` alone would accept
 * far more. */
const parseHttpDate = (text: string): number =>
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN;
