import type { WebhookState } from '#shared/contracts/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import type { DeliveryView } from '#shared/redis/deliveries.ts';
import type { OpenSystem } from './open-system.ts';

const LISTED_MAX = 1_000;

/** Commands about deliveries; each value is what `--json` prints. */

export async function showWebhook(system: OpenSystem, requestId: string) {
  return shownOf(await readDelivery(system, requestId));
}

export async function listWebhooks(
  { deliveries }: OpenSystem,
  clientId: string,
  state: WebhookState | undefined,
) {
  const found = await deliveries.list(clientId, { state, countMax: LISTED_MAX });
  return found.map((delivery) => ({ requestId: delivery.requestId, ...shownOf(delivery) }));
}

/** Sends a webhook again: the same id and the same bytes, the whole schedule anew. */
export const resendWebhook = ({ resends }: OpenSystem, requestId: string) => resends.resend(requestId);

/** Sends again all that were exhausted or stopped at `sinceMs` or later. */
export const resendFailed = ({ resends }: OpenSystem, clientId: string, sinceMs: number) =>
  resends.resendFailed(clientId, sinceMs);

async function readDelivery({ deliveries }: OpenSystem, requestId: string): Promise<DeliveryView> {
  const delivery = await deliveries.read(requestId);
  if (!delivery) throw new ServiceError('not-found', `there is no webhook of ${requestId}`);
  return delivery;
}

function shownOf({ state, callbackUrl, nextAttemptAt, attempts }: DeliveryView) {
  return {
    state,
    callbackUrl,
    ...(nextAttemptAt ? { nextAttemptAt } : {}),
    attempts: attempts.map(({ attempt, at, status, durationMs, class: outcome, chain }) => ({
      attempt,
      at,
      status,
      durationMs,
      class: outcome,
      chain,
    })),
  };
}
