/**
 * The internal error codes, and which of them are retriable: the same work may succeed later
 * without a change of it.
 *
 * A consumer keeps trying a record with a retriable error, and a gateway answers 503. A consumer
 * tries a record with any other error three times, an unreadable message once, and then
 * dead-letters it (`kafka/consumer/process-record.ts`).
 *
 * Clients see the messages of `overloaded`, `limit-reached`, `version-conflict`,
 * `rule-set-unknown`, `rule-set-in-use` and `watch-not-found`.
 */
const ERRORS = {
  /** The broker could not be asked. A message that was to be published is surely not written. */
  'broker-unavailable': { retriable: true },
  /** Sent, and no answer in time: it may be written or not. */
  'publish-unknown': { retriable: true },
  'store-unavailable': { retriable: true },
  'view-rebuilding': { retriable: true },
  overloaded: { retriable: true },
  'message-unreadable': { retriable: false },
  'message-too-large': { retriable: false },
  'handler-failed': { retriable: false },
  'config-invalid': { retriable: false },
  'not-found': { retriable: false },
  'limit-reached': { retriable: false },
  'rule-set-unknown': { retriable: false },
  'watch-not-found': { retriable: false },
  /** A budget is used up for now. */
  'rate-limited': { retriable: false },
  /** The account has made the system keep what it may on one day. */
  'bytes-exceeded': { retriable: false },
  /** The document is not at the version that the writer named. */
  'version-conflict': { retriable: false },
  /** A watch refers to the rule set. */
  'rule-set-in-use': { retriable: false },
  /** The request does not fit the current state. */
  conflict: { retriable: false },
  /** The person who signed up with this address has not shown that it is theirs. */
  'account-unverified': { retriable: false },
  'usage-invalid': { retriable: false },
} as const satisfies Record<string, { readonly retriable: boolean }>;

export type ErrorCode = keyof typeof ERRORS;

/** A failure with a code. Its message may be logged and dead-lettered, so it never holds a secret
 * or a URL. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  /** How long to wait before the same is asked again, where that is known. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { readonly retryAfterMs?: number }) {
    super(message, options);
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** The message of an error as a sentence, for people. */
export const sentenceOf = ({ message }: ServiceError): string =>
  `${message[0]?.toUpperCase()}${message.slice(1)}.`;

/** Whether the same work may succeed later. An error that is no `ServiceError` is a bug, and a bug
 * is not retriable. */
export const isRetriable = (error: unknown): boolean =>
  error instanceof ServiceError && ERRORS[error.code].retriable;

/** Whether a publish that failed has surely written nothing. An error that is no `ServiceError`
 * came before the broker was asked. */
export const isSurelyUnwritten = (error: unknown): boolean =>
  !(error instanceof ServiceError) || error.code !== 'publish-unknown';

/** The code and message of any thrown value, fit for a log line or a dead-lettered record. */
export function describeError(error: unknown): { code: string; message: string } {
  if (error instanceof ServiceError) return { code: error.code, message: error.message };
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { code: 'handler-failed', message: message.slice(0, 500) };
}
