type Attempt = { attempt: number; at: string };

/** Whole seconds, as they are sent and signed. */
const timestampOf = (attempt: Attempt) => String(Math.floor(Date.parse(attempt.at) / 1_000));

/** The headers of an attempt, in the order in which they are shown. A signature is not stored, and
 * the portal cannot open the secrets that sign: the value then says how it is made. */
export const headersOf = (requestId: string, attempt: Attempt) => [
  ['content-type', 'application/json'],
  ['user-agent', 'Rolecall/<version>'],
  ['webhook-id', `msg_${requestId}`],
  ['webhook-timestamp', timestampOf(attempt)],
  ['webhook-attempt', String(attempt.attempt)],
  ['webhook-signature', 'v1,<HMAC-SHA256 in base64>, one per live secret, newest first'],
  ['x-service-signature', 'the same as webhook-signature'],
  ['traceparent', 'the trace of this attempt'],
];

/** Shell commands that compute the signature of an attempt from the payload in `payload.json`. */
export const verifyCommand = (requestId: string, attempt: Attempt) => `WEBHOOK_SECRET='whsec_…'
key=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \\n')
printf 'v1,'
{ printf %s 'msg_${requestId}.${timestampOf(attempt)}.'; printf %s "$(cat payload.json)"; } |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64`;
