import type { RetryTier } from '#shared/contracts/webhooks/webhook.ts';
import { planDeferral } from '../domain/schedule-retry.ts';
import { makeAttemptGate } from './admit-attempt.ts';
import { DeliverySlots } from './delivery-slots.ts';

// Scenario: many webhooks at once to one receiver that takes each of them in the same time, on a
// virtual clock. Gate, slots and plan are the real ones; a tier is a list for each partition.

const APP = { accountId: 'acc_1', clientId: 'app_1' };
const HOOK = 'https://hooks.example/a';
const RECEIVER_SLOTS = 8;
const PARTITIONS = 12;
const STEP_MS = 50;
const HALF_HOUR_MS = 1_800_000;
const DAY_MS = 86_400_000;

type Message = { readonly partition: number; deferralCount: number; dueAtMs: number };
type Burst = {
  readonly count: number;
  readonly durationMs: number;
  /** Whether the breaker had deferred the messages, and a probe then succeeded. */
  readonly isAfterOutage?: boolean;
};

// Without the timer of the slots, which sweeps in real time.
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
afterEach(() => void jest.useRealTimers());

const settling = () => new Promise((resolve) => setImmediate(resolve));

/** Numbers from 0 to 1, the same ones in each run. */
function makeRandom() {
  let seed = 1;
  return () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
}

async function deliverAll({ count, durationMs, isAfterOutage = false }: Burst) {
  let [nowMs, deliveredCount, recordCount] = [0, 0, 0];
  const random = makeRandom();
  using slots = new DeliverySlots(() => nowMs);
  const gate = makeAttemptGate({ slots, monotonicMs: () => nowMs, scale: 1 });
  const tiers = new Map<string, { readonly tier: RetryTier; readonly messages: Message[]; read: number }>();
  const attempts: { readonly endsAtMs: number; readonly end: (isHealthy: boolean) => void }[] = [];

  const handle = async (message: Message, from: RetryTier | undefined) => {
    const admission = await gate.admit(APP, HOOK, 300);
    if (admission.end) return void attempts.push({ endsAtMs: nowMs + durationMs, end: admission.end });
    const clock = { nowMs, startedAtMs: 0, jitter: random(), scale: 1 };
    const retry = planDeferral(admission, message.deferralCount, clock, from);
    if (retry === undefined) return;
    recordCount += 1;
    Object.assign(message, { deferralCount: message.deferralCount + 1, dueAtMs: retry.dueAtMs });
    const name = `${retry.tier} ${message.partition}`;
    const tier = tiers.get(name) ?? { tier: retry.tier, messages: [], read: 0 };
    tiers.set(name, tier);
    tier.messages.push(message);
  };
  /** A record waits for the one before it. */
  const handleDue = () => {
    for (const each of tiers.values()) {
      let next = each.messages[each.read];
      while (next && next.dueAtMs <= nowMs) {
        each.read += 1;
        void handle(next, each.tier);
        next = each.messages[each.read];
      }
    }
  };

  if (isAfterOutage) {
    const probe = await gate.admit(APP, HOOK, 300);
    nowMs += durationMs;
    probe.end?.(true);
    nowMs += HALF_HOUR_MS;
  }
  const beganMs = nowMs;
  for (let i = 0; i < count; i += 1) {
    const message = { partition: i % PARTITIONS, deferralCount: isAfterOutage ? 20 : 0, dueAtMs: 0 };
    void handle(message, isAfterOutage ? '30m' : undefined);
  }
  while (deliveredCount < count && nowMs < DAY_MS) {
    await settling();
    nowMs += STEP_MS;
    while (attempts[0] && attempts[0].endsAtMs <= nowMs) {
      attempts.shift()?.end(true);
      deliveredCount += 1;
    }
    slots.sweep();
    await settling();
    handleDue();
  }
  const neededMs = (count * durationMs) / RECEIVER_SLOTS;
  return { deliveredCount, timesNeeded: (nowMs - beganMs) / neededMs, recordsEach: recordCount / count };
}

test.each<Burst>([
  { count: 1_000, durationMs: 200 },
  { count: 3_000, durationMs: 1_000 },
  { count: 1_000, durationMs: 5_000 },
  { count: 500, durationMs: 12_000 },
  // More than the 5 s tier may hold.
  { count: 10_000, durationMs: 1_000 },
  { count: 30_000, durationMs: 200 },
  { count: 3_000, durationMs: 1_000, isAfterOutage: true },
])(
  'delivers a burst within 5 times what the receiver needs, by at most 50 records each: %j',
  async (burst) => {
    const { deliveredCount, timesNeeded, recordsEach } = await deliverAll(burst);
    expect(deliveredCount).toBe(burst.count);
    expect(timesNeeded).toBeLessThan(5);
    expect(recordsEach).toBeLessThan(50);
  },
);
