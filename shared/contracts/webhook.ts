import { z } from 'zod';
import { defineTopic } from './topic.ts';

/**
 * The retry tiers, one topic and one delay each, shortest first. A record in a tier is due
 * its delay (plus up to 20 % of jitter) after the attempt that failed; it is never early.
 */
export const RETRY_TIERS = ['5s', '5m', '30m', '2h', '5h', '10h'] as const;
export type RetryTier = (typeof RETRY_TIERS)[number];

/** A delivery that waits for its next attempt. It holds all an attempt needs but the signing secret. */
export const WebhookRetry = z.object({
  requestId: z.string().min(1).max(64),
  clientId: z.string(),
  callbackUrl: z.string(),
  /** The stored result, byte for byte what every attempt sends. */
  resultJson: z.string(),
  acceptedAt: z.iso.datetime(),
  retainUntil: z.iso.datetime(),
  /** Attempts made so far. Being put aside without an attempt does not raise it. */
  attemptCount: z.number().int().nonnegative(),
  /** Times put aside since the last attempt: an open breaker sends to the shortest tier, then to the next. */
  asideCount: z.number().int().nonnegative().default(0),
  /** When the delivery was first taken up (attempted or put aside): the give-up bound counts from there. */
  firstAttemptAt: z.iso.datetime().optional(),
  /** Redis's clock. */
  dueAt: z.iso.datetime(),
  /** Raised by each resend, so that a resend's retry chain is told from the first one's. */
  chain: z.number().int().nonnegative().default(0),
});
export type WebhookRetry = z.infer<typeof WebhookRetry>;

const retryTopic = (tier: RetryTier) =>
  defineTopic({
    name: `webhook.retry.${tier}.v1`,
    schema: WebhookRetry,
    keyOf: (message) => message.requestId,
    partitionCount: 12,
    retentionDays: 7,
    messageMibMax: 4,
  });

export const webhookRetry = {
  '5s': retryTopic('5s'),
  '5m': retryTopic('5m'),
  '30m': retryTopic('30m'),
  '2h': retryTopic('2h'),
  '5h': retryTopic('5h'),
  '10h': retryTopic('10h'),
} as const satisfies Record<RetryTier, ReturnType<typeof retryTopic>>;

/** An operator's or developer's wish to send a webhook again. */
export const webhookRequested = defineTopic({
  name: 'webhook.requested.v1',
  schema: WebhookRetry,
  keyOf: (message) => message.requestId,
  partitionCount: 12,
  retentionDays: 7,
  messageMibMax: 4,
});

/** What came of an attempt; also the label of the attempts metric. */
export const AttemptClass = z.enum([
  'delivered',
  'http-3xx',
  'http-4xx',
  'http-5xx',
  'gone',
  'timeout',
  'connect-failed',
  'connection-reset',
  'tls-failed',
  'dns-failed',
  'address-refused',
  'response-malformed',
]);
export type AttemptClass = z.infer<typeof AttemptClass>;

export const WebhookState = z.enum(['pending', 'delivered', 'exhausted', 'stopped']);
export type WebhookState = z.infer<typeof WebhookState>;

/** Dispatcher → log of attempts, for the portal and the operator. */
export const WebhookAttempted = z.object({
  requestId: z.string().min(1).max(64),
  clientId: z.string(),
  /** The retry chain that the attempt belongs to: 0 is the first one, each resend has the next. */
  chain: z.number().int().nonnegative().default(0),
  /** From 1 within its chain; absent where the delivery was given up without an attempt. */
  attempt: z.number().int().positive().optional(),
  at: z.iso.datetime(),
  /** The state of the delivery after this attempt. */
  state: WebhookState,
  class: AttemptClass.optional(),
  status: z.number().int().optional(),
  durationMs: z.number().nonnegative().optional(),
  /** The first 4 KiB of the answer. */
  responseBody: z.string().optional(),
  nextAttemptAt: z.iso.datetime().optional(),
  callbackUrl: z.string(),
  retainUntil: z.iso.datetime(),
});
export type WebhookAttempted = z.infer<typeof WebhookAttempted>;

export const webhookAttempted = defineTopic({
  name: 'webhook.attempted.v1',
  schema: WebhookAttempted,
  keyOf: (message) => message.requestId,
  partitionCount: 12,
  retentionDays: 30,
});
