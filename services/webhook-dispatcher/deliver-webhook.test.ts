import type { RetryTier, WebhookAttempted, WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import type { ClaimOutcome } from '#shared/stores/webhooks/deliveries.ts';
import { type DeliveryDependencies, makeDelivery } from './deliver-webhook.ts';
import type { AdmitResult } from './delivery/admit-attempt.ts';
import type { AttemptRequest } from './delivery/attempt-delivery.ts';
import type { AttemptOutcome } from './domain/classify-attempt.ts';
import type { Deferral } from './domain/schedule-retry.ts';

const NOW_MS = Date.parse('2026-11-21T10:00:00.000Z');
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`;
const iso = (atMs: number) => new Date(atMs).toISOString();

const aDelivery = (over: Partial<WebhookRetry> = {}): WebhookRetry => ({
  requestId: 'r1',
  clientId: 'app_1',
  accountId: 'acc_1',
  callbackUrl: 'https://hooks.example/x',
  acceptedAt: iso(NOW_MS - 500),
  retainUntil: iso(NOW_MS + 3_600_000),
  attemptCount: 0,
  deferralCount: 0,
  dueAt: iso(NOW_MS),
  resendCount: 0,
  ...over,
});

const aRecord = (over: Partial<RecordContext> = {}): RecordContext => ({
  topic: 'webhook.requested.v1',
  partition: 3,
  offset: '42',
  key: 'r1',
  headers: {},
  traceparent: TRACEPARENT,
  timestampMs: NOW_MS,
  value: null,
  signal: new AbortController().signal,
  alive: () => undefined,
  park: () => undefined,
  ...over,
});

/** The body of every delivery, unless a record brings another. */
const STORED = '{"requestId":"r1"}';
/** What the first record of a delivery brought, whatever a later one brings. */
const SAVED = '{"saved":true}';

type Script = {
  readonly stored?: 'none';
  readonly claim?: ClaimOutcome;
  readonly isFull?: boolean;
  readonly deferral?: Deferral['reason'];
  readonly outcome?: AttemptOutcome;
  readonly secretError?: ServiceError;
  readonly failOnce?: 'publishRetry' | 'publishAttempted' | 'record';
};

/** By whether the receiver took the message. */
const VERDICTS: Readonly<Record<string, string>> = {
  true: 'healthy',
  false: 'failing',
  undefined: 'unknown',
};

/** The dispatcher's pipeline over fakes that record every call to a dependency, in order. */
function setUp(script: Script = {}) {
  const steps: string[] = [];
  const retries: { tier: RetryTier; message: WebhookRetry }[] = [];
  const attempted: WebhookAttempted[] = [];
  const requests: AttemptRequest[] = [];
  let toFail = script.failOnce;
  const step = (name: string) => {
    steps.push(name);
    if (toFail !== name) return;
    toFail = undefined;
    throw new ServiceError('store-unavailable', 'away');
  };
  const { deferral } = script;
  const deferred: Deferral | undefined =
    deferral && (deferral === 'slots' ? { reason: deferral, tier: '5s' } : { reason: deferral });
  const admission: AdmitResult = deferred
    ? deferred
    : { end: (isHealthy) => steps.push(`slot ${VERDICTS[String(isHealthy)]}`) };
  const deps: DeliveryDependencies = {
    deliveries: {
      claim: async (_, position) => {
        steps.push(`claim ${position}`);
        return script.claim ?? 'claimed';
      },
      releaseClaim: async () => step('releaseClaim'),
      record: async () => step('record'),
    },
    results: {
      saveIfAbsent: async ({ requestId }) => {
        steps.push(`save ${requestId}`);
        return SAVED;
      },
      read: async () => {
        steps.push('read body');
        return script.stored === 'none' ? undefined : STORED;
      },
    },
    isFull: () => script.isFull ?? false,
    readSigners: async () => {
      if (script.secretError) throw script.secretError;
      return [{ sign: () => 'c2lnbmVk', expiresAtMs: undefined }];
    },
    gate: { admit: async () => admission },
    attempt: async (request) => {
      steps.push('attempt');
      requests.push(request);
      return script.outcome ?? { class: 'delivered', status: 204, durationMs: 5 };
    },
    publishRetry: async (tier, message) => {
      step('publishRetry');
      retries.push({ tier, message });
    },
    publishAttempted: async (message) => {
      step('publishAttempted');
      attempted.push(message);
    },
    log: { error: () => undefined },
    metrics: {
      recordAttempt: () => undefined,
      countExhausted: () => steps.push('exhausted'),
      countDeferral: () => undefined,
      countDropped: (reason) => steps.push(`dropped ${reason}`),
    },
    redisNowMs: () => NOW_MS,
    random: () => 0,
    scale: 1,
    userAgent: 'Rolecall/0.0.0',
  };
  return { deps, deliver: makeDelivery(deps).handle, steps, retries, attempted, requests };
}

const FAILED: AttemptOutcome = { class: 'http-5xx', status: 500, durationMs: 5, body: 'no' };

test('claims with the position of the record, reads the body, attempts, logs and records, in this order', async () => {
  const { deliver, steps, attempted, requests, retries } = setUp();
  await deliver(aDelivery(), aRecord());
  expect(steps).toEqual([
    'claim webhook.requested.v1/3/42',
    'read body',
    'attempt',
    'slot healthy',
    'publishAttempted',
    'record',
  ]);
  expect(requests[0]).toMatchObject({
    url: 'https://hooks.example/x',
    body: '{"requestId":"r1"}',
    headers: {
      'webhook-id': 'msg_r1',
      'webhook-attempt': '1',
      'user-agent': 'Rolecall/0.0.0',
      traceparent: TRACEPARENT,
    },
  });
  expect(attempted).toEqual([expect.objectContaining({ attempt: 1, state: 'delivered', status: 204 })]);
  expect(retries).toEqual([]);
});

test('saves the body that a record brings before the attempt, and sends the saved bytes without reading them', async () => {
  const { deliver, steps, requests } = setUp();
  await deliver({ ...aDelivery(), resultJson: '{"mine":true}' }, aRecord());
  expect(steps.slice(0, 3)).toEqual(['claim webhook.requested.v1/3/42', 'save r1', 'attempt']);
  expect(requests[0]?.body).toBe(SAVED);
});

test('saves the body of a record that another record of the same check has overtaken, and attempts nothing', async () => {
  const { deliver, steps } = setUp({ claim: 'taken' });
  await deliver({ ...aDelivery(), resultJson: '{"mine":true}' }, aRecord());
  expect(steps).toEqual(['claim webhook.requested.v1/3/42', 'save r1', 'dropped taken']);
});

test.each(['a retry', 'a deferral'] as const)('does not write the body again for %s', async (kind) => {
  const { deliver, retries } = setUp(kind === 'a retry' ? { outcome: FAILED } : { deferral: 'breaker' });
  const check = { keyId: 'key_1', decided: true, request: { partition: 0, offset: 0 } };
  await deliver({ ...aDelivery(), resultJson: '{"text":"x"}', check }, aRecord());
  const [retry] = retries;
  expect(retry?.message).toEqual(expect.not.objectContaining({ resultJson: expect.anything() }));
  expect(retry?.message).toEqual(expect.not.objectContaining({ check: expect.anything() }));
});

test('exhausts a delivery whose body is not stored, and frees its slot', async () => {
  const { deliver, steps, attempted, requests } = setUp({ stored: 'none' });
  await deliver(aDelivery({ attemptCount: 2, firstAttemptAt: iso(NOW_MS) }), aRecord());
  expect(steps).toContain('slot unknown');
  expect(requests).toEqual([]);
  expect(attempted).toMatchObject([{ state: 'exhausted' }]);
});

test('publishes the retry of a failed attempt before it logs the attempt', async () => {
  const { deliver, steps, retries, attempted } = setUp({ outcome: FAILED });
  await deliver(aDelivery(), aRecord());
  expect(steps.slice(-3)).toEqual(['publishRetry', 'publishAttempted', 'record']);
  const dueAt = iso(NOW_MS + 5_000);
  expect(retries).toEqual([
    {
      tier: '5s',
      message: { ...aDelivery(), attemptCount: 1, deferralCount: 0, firstAttemptAt: iso(NOW_MS), dueAt },
    },
  ]);
  expect(attempted).toEqual([
    expect.objectContaining({ state: 'pending', responseBody: 'no', nextAttemptAt: dueAt }),
  ]);
});

test('does not keep what the receiver answered once the account has used its bytes of the day', async () => {
  const { deliver, attempted } = setUp({ outcome: FAILED, isFull: true });
  await deliver(aDelivery(), aRecord());
  expect(attempted).toEqual([expect.not.objectContaining({ responseBody: expect.anything() })]);
});

test.each(['taken', 'superseded', 'finished'] as const)(
  'drops a record whose step is %s, without an attempt',
  async (claim) => {
    const { deliver, steps } = setUp({ claim });
    await deliver(aDelivery(), aRecord());
    expect(steps).toEqual(['claim webhook.requested.v1/3/42', `dropped ${claim}`]);
  },
);

test.each(['slots', 'hanging', 'breaker'] as const)(
  'defers for the reason %s: releases the claim first and does not advance the schedule',
  async (reason) => {
    const { deliver, steps, retries } = setUp({ deferral: reason });
    await deliver(aDelivery({ attemptCount: 2, firstAttemptAt: iso(NOW_MS) }), aRecord());
    expect(steps).toEqual(['claim webhook.requested.v1/3/42', 'releaseClaim', 'publishRetry']);
    expect(retries[0]?.tier).toBe('5s');
    expect(retries[0]?.message).toMatchObject({ attemptCount: 2, deferralCount: 1 });
  },
);

test.each(['slots', 'breaker'] as const)(
  'defers again for the reason %s without a claim, and releases a claim from before a crash',
  async (reason) => {
    const { deliver, steps, retries } = setUp({ deferral: reason });
    const record = aRecord({ topic: 'webhook.retry.5s.v1' });
    await deliver(aDelivery({ deferralCount: 1, firstAttemptAt: iso(NOW_MS) }), record);
    expect(steps).toEqual(['releaseClaim', 'publishRetry']);
    expect(retries[0]?.tier).toBe(reason === 'slots' ? '5s' : '5m');
    expect(retries[0]?.message.deferralCount).toBe(2);
  },
);

test('claims a deferred record once it has a slot, and frees the slot if the claim fails', async () => {
  const { deliver, steps } = setUp();
  await deliver(aDelivery({ deferralCount: 1 }), aRecord());
  expect(steps.slice(0, 4)).toEqual([
    'claim webhook.requested.v1/3/42',
    'read body',
    'attempt',
    'slot healthy',
  ]);
  const superseded = setUp({ claim: 'superseded' });
  await superseded.deliver(aDelivery({ deferralCount: 1 }), aRecord());
  expect(superseded.steps).toEqual(['claim webhook.requested.v1/3/42', 'dropped superseded', 'slot unknown']);
});

test('defers while a secret cannot be opened, later to the 5 min tier; throws while Redis is unavailable', async () => {
  const broken = setUp({ secretError: new ServiceError('config-invalid', 'no such key') });
  await broken.deliver(aDelivery({ deferralCount: 1 }), aRecord());
  expect(broken.steps).toEqual(['releaseClaim', 'publishRetry']);
  expect(broken.retries[0]?.tier).toBe('5m');
  const away = setUp({ secretError: new ServiceError('store-unavailable', 'away') });
  await expect(away.deliver(aDelivery(), aRecord())).rejects.toMatchObject({ code: 'store-unavailable' });
});

test('a 410 stops and the eighth failure exhausts a delivery: neither is retried', async () => {
  const gone = setUp({ outcome: { class: 'gone', status: 410, durationMs: 1 } });
  await gone.deliver(aDelivery(), aRecord());
  expect(gone.attempted[0]?.state).toBe('stopped');
  const spent = setUp({ outcome: FAILED });
  await spent.deliver(aDelivery({ attemptCount: 7, firstAttemptAt: iso(NOW_MS) }), aRecord());
  expect(spent.attempted[0]).toMatchObject({ state: 'exhausted', attempt: 8 });
  expect([...gone.retries, ...spent.retries]).toEqual([]);
});

test('exhausts a delivery without another attempt 40 h after the first one', async () => {
  const { deliver, steps, attempted } = setUp();
  await deliver(aDelivery({ attemptCount: 3, firstAttemptAt: iso(NOW_MS - 40 * 3_600_000 - 1) }), aRecord());
  expect(steps).not.toContain('attempt');
  expect(attempted[0]).toMatchObject({ state: 'exhausted' });
  expect(attempted[0]?.attempt).toBeUndefined();
});

test('respects Retry-After with 503 and ignores it with 500', async () => {
  const busy = setUp({ outcome: { class: 'http-5xx', status: 503, retryAfter: '600', durationMs: 1 } });
  await busy.deliver(aDelivery(), aRecord());
  expect(busy.retries[0]?.tier).toBe('30m');
  const broken = setUp({ outcome: { ...FAILED, retryAfter: '600' } });
  await broken.deliver(aDelivery(), aRecord());
  expect(broken.retries[0]?.tier).toBe('5s');
});

test.each(['publishRetry', 'publishAttempted', 'record'] as const)(
  'repeats %s and not the attempt after Kafka or Redis was unavailable',
  async (failOnce) => {
    const { deliver, steps } = setUp({ outcome: FAILED, failOnce });
    await deliver(aDelivery(), aRecord());
    expect(steps.filter((step) => step === 'attempt')).toHaveLength(1);
    expect(steps.filter((step) => step === failOnce)).toHaveLength(2);
  },
);

test('leaves a record to the next owner if the process stops before its log record is written', async () => {
  const { deliver } = setUp({ failOnce: 'publishAttempted' });
  const record = aRecord({ signal: AbortSignal.abort() });
  await expect(deliver(aDelivery(), record)).rejects.toMatchObject({ code: 'store-unavailable' });
});

test('shows the delivery of a record that cannot be handled as exhausted, but none for an unreadable one', async () => {
  const { deps, attempted, steps } = setUp();
  const error = new Error('a bug');
  await makeDelivery(deps).giveUp({ message: undefined, record: aRecord(), error });
  expect(attempted).toEqual([]);
  await makeDelivery(deps).giveUp({ message: aDelivery(), record: aRecord(), error });
  expect(attempted).toEqual([expect.objectContaining({ requestId: 'r1', state: 'exhausted' })]);
  expect(steps).toEqual(['publishAttempted', 'record', 'exhausted']);
});
