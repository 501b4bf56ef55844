import { z } from 'zod';
import { defineTopic } from './topic.ts';

/**
 * The retry tiers, one topic and one delay each, shortest first. A record in a tier is due
 * its delay (plus up to 20 % of jitter) after the attempt that failed; it is never early.
 */
export const RETRY_TIERS = ['5s', '5m', '30m', '2h', '5h', '10h'] as const;
export type RetryTier = (typeof RETRY_TIERS)[number];

/*
 * Schema version 2 of these topics renames two members: `chain` is `resendCount`, `asideCount` is `deferralCount`.
 * While processes of both versions run, each reads records of the other. Version 1 reads a missing `chain` as 0, and
 * would drop a resend as superseded. So version 2 writes both names and reads either.
 *
 * Deprecated: `chain` and `asideCount`. Schema version 3 neither writes nor reads them. It may be released 30 days
 * after the last process of version 1 has stopped: the attempt log and the dead-letter topics keep records that long.
 */
const SCHEMA_VERSION = 2;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Gives the members of a version 1 record the names of version 2. */
const acceptVersion1 = (value: unknown): unknown =>
  isObject(value) ? { resendCount: value['chain'], deferralCount: value['asideCount'], ...value } : value;

const encodeRetry = (message: WebhookRetry) => ({
  ...message,
  chain: message.resendCount,
  asideCount: message.deferralCount,
});

const encodeAttempted = (message: WebhookAttempted) => ({ ...message, chain: message.resendCount });

const WebhookRetryVersion2 = z.object({
  requestId: z.string().min(1).max(64),
  clientId: z.string(),
  /** The account that owns the client app: what is shared, is shared by account first. */
  accountId: z.string(),
  callbackUrl: z.string(),
  /** The stored result; every attempt sends these bytes. */
  resultJson: z.string(),
  acceptedAt: z.iso.datetime(),
  retainUntil: z.iso.datetime(),
  /** Attempts made since the last resend. A deferral is not an attempt. */
  attemptCount: z.number().int().nonnegative(),
  /** Deferrals since the last attempt: the first one goes to the shortest tier, later ones may go to the next. */
  deferralCount: z.number().int().nonnegative().default(0),
  /** When the delivery was first attempted or deferred: the give-up bound counts from there. */
  firstAttemptAt: z.iso.datetime().optional(),
  /** Redis's clock. */
  dueAt: z.iso.datetime(),
  /** 0 for the first delivery; each resend raises it, and supersedes the records of lower counts. */
  resendCount: z.number().int().nonnegative().default(0),
});

/** A delivery that waits for its next attempt. It holds all that an attempt needs except the signing secret. */
export const WebhookRetry = z.preprocess(acceptVersion1, WebhookRetryVersion2);
export type WebhookRetry = z.infer<typeof WebhookRetry>;

const retryTopic = (tier: RetryTier) =>
  defineTopic({
    name: `webhook.retry.${tier}.v1`,
    schemaVersion: SCHEMA_VERSION,
    schema: WebhookRetry,
    encode: encodeRetry,
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

/** Requests of operators and developers to send a webhook again. */
export const webhookRequested = defineTopic({
  name: 'webhook.requested.v1',
  schemaVersion: SCHEMA_VERSION,
  schema: WebhookRetry,
  encode: encodeRetry,
  keyOf: (message) => message.requestId,
  partitionCount: 12,
  retentionDays: 7,
  messageMibMax: 4,
});

/** The result of an attempt; also the label of the attempts metric. */
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

const WebhookAttemptedVersion2 = z.object({
  requestId: z.string().min(1).max(64),
  clientId: z.string(),
  /** The account that owns the client app: what is shared, is shared by account first. */
  accountId: z.string(),
  /** The `resendCount` of the delivery that the attempt belongs to. */
  resendCount: z.number().int().nonnegative().default(0),
  /** From 1, counted again after each resend; absent if the delivery was given up without an attempt. */
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
  retainUntil: z.iso.datetime(),
});

/** Dispatcher → log of attempts, for the portal and the operator. */
export const WebhookAttempted = z.preprocess(acceptVersion1, WebhookAttemptedVersion2);
export type WebhookAttempted = z.infer<typeof WebhookAttempted>;

export const webhookAttempted = defineTopic({
  name: 'webhook.attempted.v1',
  schemaVersion: SCHEMA_VERSION,
  schema: WebhookAttempted,
  encode: encodeAttempted,
  keyOf: (message) => message.requestId,
  partitionCount: 12,
  retentionDays: 30,
});
