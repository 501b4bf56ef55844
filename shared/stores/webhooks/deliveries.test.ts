import type { WebhookAttempted } from '#shared/contracts/webhooks/webhook.ts';
import { attemptLineOf, parseDelivery } from './deliveries.ts';

const attempted = {
  requestId: 'r1',
  clientId: 'app_1',
  accountId: 'acc_1',
  resendCount: 1,
  attempt: 2,
  at: '2026-11-21T10:00:00.000Z',
  state: 'pending',
  class: 'http-5xx',
  status: 500,
  durationMs: 12.5,
  callbackUrl: 'https://hooks.example/x',
  acceptedAt: '2026-11-21T09:59:00.000Z',
  retainUntil: '2026-11-24T10:00:00.000Z',
} as const;

const LINE =
  '{"attempt":2,"resendCount":1,"at":"2026-11-21T10:00:00.000Z","status":500,"durationMs":12.5,"class":"http-5xx"}';

test('an attempt always has the same stored bytes, so that a repeated record adds no second line', () => {
  expect(JSON.stringify(attemptLineOf(attempted))).toBe(LINE);
});

test('a stored delivery and its attempts are shown with their resend counts', () => {
  const { requestId, clientId, callbackUrl, acceptedAt, retainUntil } = attempted;
  const stored = {
    ...{ clientId, callbackUrl, acceptedAt, retainUntil },
    state: 'pending',
    resendCount: '1',
    attempts: `${LINE}\n`,
  };
  expect(parseDelivery(requestId, stored)).toMatchObject({
    resendCount: 1,
    attempts: [{ attempt: 2, resendCount: 1, status: 500 }],
  });
});

test('attempts are shown oldest first, also if the log of a later one was stored first', () => {
  const { requestId, clientId, callbackUrl, acceptedAt, retainUntil } = attempted;
  const line = (over: Partial<WebhookAttempted>) => JSON.stringify(attemptLineOf({ ...attempted, ...over }));
  const attempts = [
    line({ resendCount: 1, attempt: 1, at: '2026-11-21T10:00:00.002Z' }),
    line({ resendCount: 0, attempt: 2, at: '2026-11-21T10:00:00.001Z' }),
    line({ resendCount: 0, attempt: 1, at: '2026-11-21T10:00:00.001Z' }),
  ].join('\n');
  const stored = {
    clientId,
    callbackUrl,
    acceptedAt,
    retainUntil,
    state: 'delivered',
    resendCount: '1',
    attempts,
  };
  const view = parseDelivery(requestId, stored);
  expect(view?.attempts.map((each) => [each.resendCount, each.attempt])).toEqual([
    [0, 1],
    [0, 2],
    [1, 1],
  ]);
});

test('an attempt that the receiver did not answer has no status', () => {
  const { requestId, clientId, callbackUrl, acceptedAt, retainUntil } = attempted;
  const attempts = JSON.stringify(attemptLineOf({ ...attempted, status: undefined }));
  const view = parseDelivery(requestId, {
    ...{ clientId, callbackUrl, acceptedAt, retainUntil },
    ...{ state: 'pending', attempts },
  });
  expect(view?.attempts[0]?.status).toBeUndefined();
});

test('a hash without its required fields is not a delivery', () => {
  expect(parseDelivery('r1', { resendCount: '1' })).toBeUndefined();
});
