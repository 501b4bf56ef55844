import { LIVE_SECRETS_MAX } from '#shared/contracts/apps/client-app.ts';
import { webhookIdOf } from '#shared/contracts/webhooks/webhook.ts';

/** Signs with one secret until the secret expires. */
export type Signer = {
  /** The base64 HMAC-SHA256 of a text under the secret. */
  readonly sign: (content: string) => string;
  /** Epoch ms from which the secret no longer signs; absent on the newest. */
  readonly expiresAtMs: number | undefined;
};

/** Whether a secret is valid at an instant. */
export const isLiveAt = ({ expiresAtMs }: Pick<Signer, 'expiresAtMs'>, atMs: number): boolean =>
  expiresAtMs === undefined || expiresAtMs > atMs;

/**
 * Signs a message by Standard Webhooks 1.0.0 with every live secret, newest first.
 *
 * @param signers newest first, at least one; expired ones are left out if there are others.
 * @param atMs the instant of the attempt; sent as whole seconds.
 * @returns the headers of the attempt. `X-Service-Signature` repeats `webhook-signature`.
 *
 * @example
 * signMessage({ requestId: 'r1', body: '{}', atMs: Date.now(), signers: [{ sign: makeSign(secret), expiresAtMs: undefined }] });
 * // { 'webhook-id': 'msg_r1', 'webhook-timestamp': '…', 'webhook-signature': 'v1,…', 'x-service-signature': 'v1,…' }
 */
export function signMessage(message: {
  readonly requestId: string;
  readonly body: string;
  readonly atMs: number;
  readonly signers: readonly Signer[];
}) {
  const id = webhookIdOf(message.requestId);
  const timestamp = String(Math.floor(message.atMs / 1000));
  const content = `${id}.${timestamp}.${message.body}`;
  const live = message.signers.filter((signer) => isLiveAt(signer, message.atMs));
  // If the last secret ended while the attempt waited for its slot, it signs all the same: no
  // webhook is sent unsigned.
  const signature = (live.length > 0 ? live : message.signers)
    .slice(0, LIVE_SECRETS_MAX)
    .map(({ sign }) => `v1,${sign(content)}`)
    .join(' ');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
    'x-service-signature': signature,
  };
}
