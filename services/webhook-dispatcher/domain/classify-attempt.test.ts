import { classifyErrorCode, classifyStatus, judgeClass, respectsRetryAfter } from './classify-attempt.ts';

test.each([
  [200, 'delivered', 'delivered'],
  [204, 'delivered', 'delivered'],
  [299, 'delivered', 'delivered'],
  [301, 'http-3xx', 'retry'],
  [304, 'http-3xx', 'retry'],
  [400, 'http-4xx', 'retry'],
  [404, 'http-4xx', 'retry'],
  [410, 'gone', 'stopped'],
  [429, 'http-4xx', 'retry'],
  [500, 'http-5xx', 'retry'],
  [503, 'http-5xx', 'retry'],
  [600, 'response-malformed', 'retry'],
  [101, 'response-malformed', 'retry'],
])('status %i is %s: %s', (status, attemptClass, verdict) => {
  expect(classifyStatus(status)).toBe(attemptClass);
  expect(judgeClass(classifyStatus(status))).toBe(verdict);
});

test.each([
  ['ECONNREFUSED', 'connect-failed'],
  ['EHOSTUNREACH', 'connect-failed'],
  ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
  ['ETIMEDOUT', 'timeout'],
  ['ENOTFOUND', 'dns-failed'],
  ['EAI_AGAIN', 'dns-failed'],
  ['ESERVFAIL', 'dns-failed'],
  ['ECONNRESET', 'connection-reset'],
  ['EPIPE', 'connection-reset'],
  ['UND_ERR_SOCKET', 'connection-reset'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls-failed'],
  ['CERT_HAS_EXPIRED', 'tls-failed'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls-failed'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls-failed'],
  ['EPROTO', 'tls-failed'],
  ['HPE_INVALID_CONSTANT', 'response-malformed'],
  ['UND_ERR_HEADERS_OVERFLOW', 'response-malformed'],
  ['ERR_ADDRESS_REFUSED', 'address-refused'],
  ['SOMETHING_NEW', 'connect-failed'],
  [undefined, 'connect-failed'],
])('the error %s is %s, and is tried again', (code, attemptClass) => {
  expect(classifyErrorCode(code)).toBe(attemptClass);
  expect(judgeClass(classifyErrorCode(code))).toBe('retry');
});

test('respects Retry-After with 429 and 503 only', () => {
  expect([200, 301, 429, 500, 502, 503, undefined].filter(respectsRetryAfter)).toEqual([429, 503]);
});
