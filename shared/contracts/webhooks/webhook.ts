import { z } from 'zod';
import { CheckRecord, type EvaluatedCheck } from '../checks/check-completed.ts';
import { HOUR_MS } from '../durations.ts';
import { defineTopic, ofRequest } from '../topic.ts';

/**
 * The retry tiers, one topic and one delay each, shortest first. A record in a tier is due
 * its delay (plus up to 20 % of jitter) after the attempt that failed; it is never early.
 */
export const RETRY_TIERS = ['5s', '5m', '30m', '2h', '5h', '10h'] as const;
export type RetryTier = (typeof RETRY_TIERS)[number];

/** A delivery is given up this long after its first attempt or deferral. */
export const DELIVERY_MS_MAX = 40 * HOUR_MS;

/**
 * A delivery that waits for its next attempt. It holds all that an attempt needs except the signing
 * secret and the body, which is stored under the request id.
 */
export const WebhookRetry = z.object({
  ...ofRequest,
  callbackUrl: z.string(),
  /** Attempts made since the last resend. A deferral is not an attempt. */
  attemptCount: z.number().int().nonnegative(),
  /** Deferrals since the last attempt, for whatever reason. */
  deferralCount: z.number().int().nonnegative(),
  /** When the delivery was first attempted or deferred: the give-up bound counts from there. */
  firstAttemptAt: z.iso.datetime().optional(),
  /** Redis's clock. */
  dueAt: z.iso.datetime(),
  /** 0 for the first delivery; each resend raises it, and supersedes the records of lower
   * counts. */
  resendCount: z.number().int().nonnegative(),
});
export type WebhookRetry = z.infer<typeof WebhookRetry>;

/**
 * The record that begins a delivery. It brings the body: the result of a check, which is in no
 * other topic, the status of a batch, or an event. The record of a resend has the id alone.
 */
export const WebhookRequested = WebhookRetry.extend({
  /** Stored under the request id before the first attempt; every attempt sends these bytes. */
  resultJson: z.string().optional(),
  /** Where the body is the result of a check. */
  check: CheckRecord.optional(),
});
export type WebhookRequested = z.infer<typeof WebhookRequested>;
/** The record of a delivery that is no resend. */
export type NewWebhook = WebhookRequested & { readonly resultJson: string };

export const bringsBody = (message: WebhookRequested): message is NewWebhook =>
  message.resultJson !== undefined;

export const checkOf = ({ check, ...delivery }: NewWebhook): EvaluatedCheck | undefined =>
  check && { ...delivery, ...check, mode: 'webhook' };

const ID_PREFIX = 'msg_';

/** The `webhook-id` header of a delivery: the same on every attempt. */
export const webhookIdOf = (requestId: string): string => ID_PREFIX + requestId;

/** The request id of a `webhook-id`; undefined for a text that cannot be one. */
export const requestIdOf = (webhookId: string): string | undefined =>
  /^msg_[\w-]{1,64}$/.test(webhookId) ? webhookId.slice(ID_PREFIX.length) : undefined;

/** The subject of a delivery. */
type About = Pick<
  WebhookRetry,
  'requestId' | 'clientId' | 'accountId' | 'callbackUrl' | 'acceptedAt' | 'retainUntil'
>;

/** The body of a new delivery, or the number and the time of a resend, which alone counts from 1
 * and is due later than what it repeats was accepted. */
type Begins = Pick<NewWebhook, 'resultJson' | 'check'> | Pick<WebhookRetry, 'resendCount' | 'dueAt'>;

/** Makes the record that begins a delivery: of a check, a batch, an event, an alert, or a resend. */
export const firstDelivery = <B extends Begins>(about: About, begins: B): WebhookRetry & B => ({
  requestId: about.requestId,
  clientId: about.clientId,
  accountId: about.accountId,
  callbackUrl: about.callbackUrl,
  acceptedAt: about.acceptedAt,
  retainUntil: about.retainUntil,
  attemptCount: 0,
  deferralCount: 0,
  dueAt: about.acceptedAt,
  resendCount: 0,
  ...begins,
});

const retryTopic = (tier: RetryTier) =>
  defineTopic({
    name: `webhook.retry.${tier}.v1`,
    schema: WebhookRetry,
    keyOf: (message) => message.requestId,
    partitionCount: 12,
    retention: 'checks',
  });

export const webhookRetry = Object.fromEntries(
  RETRY_TIERS.map((tier) => [tier, retryTopic(tier)]),
) as Readonly<Record<RetryTier, ReturnType<typeof retryTopic>>>;

/** The results of checks with a webhook, the webhooks of batches, watches, quota alerts and test
 * events, and requests to send any webhook again. */
export const webhookRequested = defineTopic({
  name: 'webhook.requested.v1',
  schema: WebhookRequested,
  keyOf: (message) => message.requestId,
  partitionCount: 24,
  retention: 'checks',
  messageMibMax: 4,
});

/** The result of an attempt; also the label of the attempts metric. */
export const AttemptClass = z
  .enum([
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
  ])
  .meta({ id: 'AttemptClass' });
export type AttemptClass = z.infer<typeof AttemptClass>;

export const WebhookState = z
  .enum(['pending', 'delivered', 'exhausted', 'stopped'])
  .meta({ id: 'DeliveryState' });
export type WebhookState = z.infer<typeof WebhookState>;

/** Dispatcher → log of attempts, for the portal and the operator. */
export const WebhookAttempted = z.object({
  ...ofRequest,
  /** The `resendCount` of the delivery that the attempt belongs to. */
  resendCount: z.number().int().nonnegative(),
  /** From 1, counted again after each resend; absent if the delivery was given up without an
   * attempt. */
  attempt: z.number().int().positive().optional(),
  at: z.iso.datetime(),
  /** The state of the delivery after this attempt. */
  state: WebhookState,
  class: AttemptClass.optional(),
  status: z.number().int().optional(),
  durationMs: z.number().nonnegative().optional(),
  /** The first 4 KiB of the response body. */
  responseBody: z.string().optional(),
  nextAttemptAt: z.iso.datetime().optional(),
  callbackUrl: z.string(),
});
export type WebhookAttempted = z.infer<typeof WebhookAttempted>;

export const webhookAttempted = defineTopic({
  name: 'webhook.attempted.v1',
  schema: WebhookAttempted,
  keyOf: (message) => message.requestId,
  partitionCount: 12,
  retention: 'attempts',
});
