/** The outcomes of an attempt, in words; an outcome that is not listed is shown as it is. */
const WORDS = {
  delivered: 'Delivered',
  'http-3xx': 'A redirect, which is not followed',
  'http-4xx': 'Refused by the receiver',
  'http-5xx': 'The receiver failed',
  gone: 'Gone: the receiver wants no more webhooks',
  timeout: 'No answer in time',
  'connect-failed': 'Could not connect',
  'connection-reset': 'The connection broke',
  'tls-failed': 'TLS failed',
  'dns-failed': 'The name could not be resolved',
  'address-refused': 'The address is not allowed',
  'response-malformed': 'The answer was malformed',
};

/**
 * @example
 * wordsOfAttempt({ class: 'http-5xx', status: 503 }); // 'The receiver failed (503)'
 */
export const wordsOfAttempt = ({ class: name, status }) =>
  `${WORDS[name] ?? name}${status === undefined ? '' : ` (${status})`}`;
