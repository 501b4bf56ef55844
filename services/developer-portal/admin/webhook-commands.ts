import type { WebhookState } from '#shared/contracts/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import type { DeliveryView } from '#shared/redis/delivery-view.ts';
import type { OpenSystem } from './open-system.ts';

const LISTED_MAX = 1_000;

/** Commands about deliveries; each value is what `--json` prints. */

export async function showWebhook(system: OpenSystem, requestId: string) {
  return shownOf(await readDelivery(system, requestId));
}

export async function listWebhooks(
  { deliveries, clientApps }: OpenSystem,
  clientId: string,
  state: WebhookState | undefined,
) {
  await requireApp(clientApps, clientId);
  const found = await deliveries.list(clientId, { state, countMax: LISTED_MAX });
  return found.map((delivery) => ({ requestId: delivery.requestId, ...shownOf(delivery) }));
}

/** Sends a webhook again with the same id and bytes; its retry schedule starts over. */
export const resendWebhook = ({ resends }: OpenSystem, requestId: string) => resends.resend(requestId);

/** Sends all webhooks again that were exhausted or stopped at `sinceMs` or later. */
export async function resendFailed({ resends, clientApps }: OpenSystem, clientId: string, sinceMs: number) {
  await requireApp(clientApps, clientId);
  return resends.resendFailed(clientId, sinceMs);
}

/** A mistyped id must not look like an app without deliveries. Deleted apps may still have deliveries. */
async function requireApp(clientApps: OpenSystem['clientApps'], clientId: string): Promise<void> {
  if (!(await clientApps.read(clientId)))
    throw new ServiceError('not-found', `there is no client app ${clientId}`);
}

async function readDelivery({ deliveries }: OpenSystem, requestId: string): Promise<DeliveryView> {
  const delivery = await deliveries.read(requestId);
  if (!delivery) throw new ServiceError('not-found', `there is no webhook of request ${requestId}`);
  return delivery;
}

function shownOf({ state, callbackUrl, nextAttemptAt, attempts }: DeliveryView) {
  return {
    state,
    callbackUrl,
    ...(nextAttemptAt ? { nextAttemptAt } : {}),
    attempts: attempts.map(({ attempt, at, status, durationMs, class: outcome, resendCount }) => ({
      attempt,
      at,
      status,
      durationMs,
      class: outcome,
      resendCount,
    })),
  };
}
