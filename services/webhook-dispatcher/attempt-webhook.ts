import type { WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import { withSpan } from '#shared/telemetry/tracing.ts';
import type { AttemptDelivery } from './delivery/attempt-delivery.ts';
import { type AttemptOutcome, judgeClass } from './domain/classify-attempt.ts';
import { type Signer, signMessage } from './domain/sign-message.ts';

type Dependencies = { readonly attempt: AttemptDelivery; readonly userAgent: string };

type AttemptToMake = {
  readonly delivery: WebhookRetry;
  readonly body: string;
  readonly signers: readonly Signer[];
  /** Epoch ms, Redis's clock; part of the signed content. */
  readonly atMs: number;
  /** The delivery's. */
  readonly traceparent: string;
};

/** Signs a webhook and attempts it once, in a span of its own, which the receiver may continue. */
export function attemptWebhook(
  { attempt, userAgent }: Dependencies,
  { delivery, body, signers, atMs, traceparent: parent }: AttemptToMake,
): Promise<AttemptOutcome> {
  const { requestId, callbackUrl: url, attemptCount } = delivery;
  const attributes = { 'http.request.method': 'POST', 'rolecall.attempt': attemptCount + 1 };
  return withSpan('webhook attempt', { kind: 'client', parent, attributes }, async (traceparent, note) => {
    const headers = {
      'content-type': 'application/json',
      'user-agent': userAgent,
      'webhook-attempt': String(attemptCount + 1),
      traceparent,
      ...signMessage({ requestId, body, atMs, signers }),
    };
    const outcome = await attempt({ owner: delivery, url, body, headers });
    note({
      ...(outcome.status === undefined ? {} : { 'http.response.status_code': outcome.status }),
      ...(judgeClass(outcome.class) === 'retry' ? { 'error.type': outcome.class } : {}),
    });
    return outcome;
  });
}
