import fc from 'fast-check';
import { type RetryTier, WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import {
  ATTEMPTS_MAX,
  type Deferral,
  isGivenUp,
  parseRetryAfter,
  planDeferral,
  planRetry,
} from './schedule-retry.ts';

const HOUR_MS = 3_600_000;
const clock = (over: Partial<Parameters<typeof planDeferral>[2]> = {}) => ({
  nowMs: 0,
  startedAtMs: 0,
  jitter: 0,
  scale: 1,
  ...over,
});
const SCHEDULE_MS = [5_000, 300_000, 1_800_000, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS];
const SCHEDULE_TIERS = ['5s', '5m', '30m', '2h', '5h', '10h', '10h'];

test('retries after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, and then no more', () => {
  const retries = Array.from({ length: ATTEMPTS_MAX }, (_, i) => planRetry(i + 1, undefined, clock()));
  expect(retries.map((retry) => retry?.dueAtMs)).toEqual([...SCHEDULE_MS, undefined]);
  expect(retries.map((retry) => retry?.tier)).toEqual([...SCHEDULE_TIERS, undefined]);
});

test('plans an attempt never early and at most a fifth late', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 7, maxLength: 7 }),
      fc.integer({ min: 0, max: 2 ** 40 }),
      (jitters, startedAtMs) => {
        let nowMs = startedAtMs;
        for (const [i, jitter] of jitters.entries()) {
          const retry = planRetry(i + 1, undefined, clock({ nowMs, startedAtMs, jitter }));
          const delayMs = (retry?.dueAtMs ?? 0) - nowMs;
          expect(delayMs).toBeGreaterThanOrEqual(SCHEDULE_MS[i] ?? 0);
          expect(delayMs).toBeLessThanOrEqual(1.2 * (SCHEDULE_MS[i] ?? 0) + 1);
          nowMs = retry?.dueAtMs ?? 0;
        }
      },
    ),
  );
});

test.each([
  [1, 0, '5s'],
  [1, 5_000, '5s'],
  [1, 5_001, '5m'],
  [1, 3_600_000, '2h'],
  [3, 60_000, '30m'],
  [1, 10 * HOUR_MS, '10h'],
  [1, 20 * HOUR_MS, '10h'],
])(
  'picks the smallest tier that covers attempt %i and a Retry-After of %i ms: %s',
  (attempt, retryAfterMs, tier) => {
    expect(planRetry(attempt, retryAfterMs, clock())?.tier).toBe(tier);
  },
);

test('plans no ninth attempt for a Retry-After', () => {
  expect(planRetry(8, 1_000, clock())).toBeUndefined();
});

test('scales the tiers and not the Retry-After, and picks the longest tier if none covers it', () => {
  expect(planRetry(1, undefined, clock({ scale: 0.001 }))).toEqual({ tier: '5s', dueAtMs: 5 });
  expect(planRetry(1, 1_000, clock({ scale: 0.001 }))?.tier).toBe('30m');
  expect(planRetry(1, 60_000, clock({ scale: 0.001 }))?.tier).toBe('10h');
});

test('gives a delivery up 40 h after its first attempt, and plans no attempt beyond', () => {
  expect(isGivenUp(clock({ nowMs: 40 * HOUR_MS }))).toBe(false);
  expect(isGivenUp(clock({ nowMs: 40 * HOUR_MS + 1 }))).toBe(true);
  expect(planRetry(6, undefined, clock({ nowMs: 31 * HOUR_MS }))).toBeUndefined();
  expect(planDeferral({ reason: 'breaker' }, 1, clock({ nowMs: 40 * HOUR_MS }))).toBeUndefined();
});

const CLIMBING = (['hanging', 'breaker', 'secret'] as const).map((reason) => ({ reason }));

/** The tiers of successive deferrals for one reason. */
const deferralTiers = (reason: (typeof CLIMBING)[number]['reason'], count: number) => {
  const tiers: (RetryTier | undefined)[] = [];
  for (let i = 0; i < count; i += 1) tiers.push(planDeferral({ reason }, i, clock(), tiers.at(-1))?.tier);
  return tiers;
};

test('an open breaker defers to the 5 s, then the 5 min, then the 30 min tier, from then on always', () => {
  expect(deferralTiers('breaker', 5)).toEqual(['5s', '5m', '30m', '30m', '30m']);
  expect(deferralTiers('secret', 5)).toEqual(['5s', '5m', '30m', '30m', '30m']);
  expect(deferralTiers('hanging', 6)).toEqual(['5s', '5s', '5s', '5m', '30m', '30m']);
});

test('a receiver that answers again is noticed within 30 min: deferrals have no jitter', () => {
  expect(planDeferral({ reason: 'breaker' }, 50, clock({ jitter: 1 }), '30m')?.dueAtMs).toBe(1_800_000);
});

test('for want of a slot a message waits in the tier of the backlog, whatever it had waited for before', () => {
  const busy: Deferral = { reason: 'slots', tier: '5s' };
  expect(planDeferral(busy, 50, clock(), '30m')).toEqual({ tier: '5s', dueAtMs: 5_000 });
  expect(planDeferral(busy, 0, clock({ jitter: 1 }))).toEqual({ tier: '5s', dueAtMs: 6_000 });
});

test('a deferral climbs one tier at a time, however often a message had waited for a slot', () => {
  expect(planDeferral({ reason: 'breaker' }, 50, clock(), '5s')?.tier).toBe('5m');
  expect(planDeferral({ reason: 'hanging' }, 50, clock(), '5s')?.tier).toBe('5m');
  expect(planDeferral({ reason: 'breaker' }, 0, clock(), '2h')?.tier).toBe('5s');
});

/** The most records that one webhook writes beside its first at a receiver that takes none,
 * whichever of the reasons meets it when. */
function recordsOfWebhook(
  known: Map<string, number>,
  { attemptCount, deferralCount, waitedIn, nowMs }: Position = {
    attemptCount: 0,
    deferralCount: 0,
    nowMs: 0,
  },
): number {
  const key = `${attemptCount} ${deferralCount} ${waitedIn} ${nowMs}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const at = clock({ nowMs });
  const retry = planRetry(attemptCount + 1, undefined, at);
  const deferrals = CLIMBING.map((why) => planDeferral(why, deferralCount, at, waitedIn));
  const counts = [
    ...(retry ? [{ attemptCount: attemptCount + 1, deferralCount: 0, ...retry }] : []),
    ...deferrals.flatMap((deferral) =>
      deferral ? [{ attemptCount, deferralCount: deferralCount + 1, ...deferral }] : [],
    ),
  ].map(
    ({ tier, dueAtMs, ...counted }) =>
      1 + recordsOfWebhook(known, { ...counted, waitedIn: tier, nowMs: dueAtMs }),
  );
  const most = Math.max(0, ...counts);
  known.set(key, most);
  return most;
}
type Position = {
  readonly attemptCount: number;
  readonly deferralCount: number;
  readonly waitedIn?: RetryTier;
  readonly nowMs: number;
};

test('a webhook to a dead receiver costs at most 100 records and 60 KB beside the first, over its 40 h', () => {
  const at = new Date(0).toISOString();
  const record: WebhookRetry = {
    requestId: 'x'.repeat(40),
    clientId: `app_${'0'.repeat(24)}`,
    accountId: `acc_${'0'.repeat(24)}`,
    callbackUrl: 'https://hooks.example.com/rolecall',
    ...{ acceptedAt: at, retainUntil: at, firstAttemptAt: at, dueAt: at },
    ...{ attemptCount: 8, deferralCount: 99, resendCount: 9 },
  };
  // Key, headers, and what the broker stores around a record.
  const bytes = JSON.stringify(WebhookRetry.parse(record)).length + record.requestId.length + 110;
  const count = recordsOfWebhook(new Map());
  expect(count).toBeGreaterThan(40 * 2);
  expect(count).toBeLessThanOrEqual(100);
  expect(count * bytes).toBeLessThanOrEqual(60_000);
});

test.each([
  ['120', 120_000],
  [' 0 ', 0],
  ['99999999999999999999', 24 * HOUR_MS],
  ['Fri, 01 Jan 2021 00:00:30 GMT', 30_000],
  ['Thu, 31 Dec 2020 23:00:00 GMT', 0],
  ['-5', undefined],
  ['1.5', undefined],
  ['2021-01-01T00:00:30Z', undefined],
  ['soon', undefined],
  ['', undefined],
  ['9'.repeat(100), undefined],
  [undefined, undefined],
])('reads the Retry-After %j as %s ms', (text, delayMs) => {
  expect(parseRetryAfter(text, Date.parse('2021-01-01T00:00:00Z'))).toBe(delayMs);
});
