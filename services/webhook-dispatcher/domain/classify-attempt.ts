import type { AttemptClass, WebhookState } from '#shared/contracts/webhooks/webhook.ts';

/**
 * The result of one attempt. `retryAfter` is the raw header, `body` the first 4 KiB of the response
 * body.
 */
export type AttemptOutcome = {
  readonly class: AttemptClass;
  readonly durationMs: number;
  readonly status?: number;
  readonly retryAfter?: string | undefined;
  readonly body?: string;
};

/**
 * Names the class of an HTTP status. A redirect is a failure: following it would leave the checked
 * address.
 *
 * @example
 * classifyStatus(204); // 'delivered'
 */
export function classifyStatus(status: number): AttemptClass {
  if (status >= 200 && status < 300) return 'delivered';
  if (status === 410) return 'gone';
  if (status >= 300 && status < 400) return 'http-3xx';
  if (status >= 400 && status < 500) return 'http-4xx';
  if (status >= 500 && status < 600) return 'http-5xx';
  return 'response-malformed';
}

/** Codes of Node (`net`, `tls`, `dns`, OpenSSL) and of undici, first match wins. */
const ERROR_CLASSES: readonly (readonly [RegExp, AttemptClass])[] = [
  [/^ERR_ADDRESS_REFUSED$/, 'address-refused'],
  [/TIMEOUT|ETIMEDOUT|^ABORT_ERR$|UND_ERR_ABORTED/, 'timeout'],
  [/^(ENOTFOUND|EAI_|ENODATA|ESERVFAIL|ENODNS|EREFUSED|EFORMERR|EBADRESP|EBADNAME|ENOTIMP)/, 'dns-failed'],
  [/^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_|UND_ERR_NOT_SUPPORTED)/, 'response-malformed'],
  [
    /^(ERR_TLS_|ERR_SSL_|ERR_OSSL|EPROTO$|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|CRL_|ERROR_IN_C)/,
    'tls-failed',
  ],
  [/^(ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_CLOSED)/, 'connection-reset'],
];

/**
 * Names the class of a failed attempt by the error's code. An unknown code is a connection that
 * failed.
 *
 * @example
 * classifyErrorCode('ECONNREFUSED'); // 'connect-failed'
 */
export const classifyErrorCode = (code: string | undefined): AttemptClass =>
  ERROR_CLASSES.find(([pattern]) => pattern.test(code ?? ''))?.[1] ?? 'connect-failed';

/** The next step after an attempt of a class. A 410 stops: the receiver wants no more messages. */
export function judgeClass(
  attemptClass: AttemptClass,
): Extract<WebhookState, 'delivered' | 'stopped'> | 'retry' {
  if (attemptClass === 'delivered') return 'delivered';
  return attemptClass === 'gone' ? 'stopped' : 'retry';
}

/** `Retry-After` is respected with 429 and 503 only, where it tells of the receiver's load. */
export const respectsRetryAfter = (status: number | undefined): boolean => status === 429 || status === 503;
