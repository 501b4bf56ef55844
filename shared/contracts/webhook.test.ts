import { z } from 'zod';
import { parseMessage } from './topic.ts';
import { type WebhookAttempted, type WebhookRetry, webhookAttempted, webhookRequested } from './webhook.ts';

// Scenario: a rolling deploy, in which processes of schema versions 1 and 2 read each other's records. A resend whose
// count is lost would be taken for an old record and dropped.

const AT = '2026-11-21T10:00:00.000Z';

const aRetry: WebhookRetry = {
  requestId: 'r1',
  clientId: 'app_1',
  accountId: 'acc_1',
  callbackUrl: 'https://hooks.example/x',
  resultJson: '{}',
  acceptedAt: AT,
  retainUntil: AT,
  attemptCount: 1,
  deferralCount: 3,
  dueAt: AT,
  resendCount: 2,
};
const anAttempt: WebhookAttempted = {
  requestId: 'r1',
  clientId: 'app_1',
  accountId: 'acc_1',
  resendCount: 2,
  at: AT,
  state: 'pending',
  callbackUrl: 'https://hooks.example/x',
  retainUntil: AT,
};

/** The renamed members as version 1 reads them. */
const Version1 = z.object({
  chain: z.number().int().nonnegative().default(0),
  asideCount: z.number().int().nonnegative().default(0),
});

test('a consumer of version 1 reads the counts that version 2 writes', () => {
  expect(Version1.parse(webhookRequested.encode?.(aRetry))).toEqual({ chain: 2, asideCount: 3 });
  expect(Version1.parse(webhookAttempted.encode?.(anAttempt))).toMatchObject({ chain: 2 });
});

test('a consumer of version 2 reads the counts of version 1', () => {
  const { resendCount: _, deferralCount: __, ...retry } = aRetry;
  const version1Retry = JSON.stringify({ ...retry, chain: 2, asideCount: 3 });
  expect(parseMessage(webhookRequested, version1Retry)).toEqual(aRetry);
  const { resendCount: ___, ...attempt } = anAttempt;
  expect(parseMessage(webhookAttempted, JSON.stringify({ ...attempt, chain: 2 }))).toEqual(anAttempt);
});

test('a consumer of version 2 reads records without the deprecated names', () => {
  expect(parseMessage(webhookRequested, JSON.stringify(aRetry))).toEqual(aRetry);
  expect(parseMessage(webhookAttempted, JSON.stringify(anAttempt))).toEqual(anAttempt);
});

test('a count that is no number makes the record unreadable, under whichever name it comes', () => {
  const { resendCount: _, ...retry } = aRetry;
  for (const wrong of [{ chain: 'two' }, { resendCount: -1 }])
    expect(() => parseMessage(webhookRequested, JSON.stringify({ ...retry, ...wrong }))).toThrow(
      '/resendCount',
    );
});

test.each(['[]', 'null', '"text"', '1'])('the record %s is unreadable', (value) => {
  expect(() => parseMessage(webhookRequested, value)).toThrow('does not match webhook.requested.v1');
});
