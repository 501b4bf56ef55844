import { type WebhookState, webhookRequested } from '#shared/contracts/webhook.ts';
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

/** Sends a webhook again: the same id and the same bytes, as the next chain of this delivery. */
export async function resendWebhook(system: OpenSystem, requestId: string) {
  await resend(system, await readDelivery(system, requestId));
  return { requestId };
}

/** Sends again all that were exhausted or stopped at `sinceMs` or later. */
export async function resendFailed(system: OpenSystem, clientId: string, sinceMs: number) {
  let count = 0;
  for (const requestId of await system.deliveries.failedSince(clientId, sinceMs)) {
    const delivery = await system.deliveries.read(requestId);
    if (!delivery || !(await isStored(system, requestId))) continue;
    await resend(system, delivery);
    count++;
  }
  return { count };
}

const isStored = async ({ results }: OpenSystem, requestId: string): Promise<boolean> =>
  (await results.read(requestId)) !== undefined;

async function readDelivery({ deliveries }: OpenSystem, requestId: string): Promise<DeliveryView> {
  const delivery = await deliveries.read(requestId);
  if (!delivery) throw new ServiceError('not-found', `there is no webhook of ${requestId}`);
  return delivery;
}

async function resend({ results, kafka, clock }: OpenSystem, delivery: DeliveryView): Promise<void> {
  const { requestId, clientId, callbackUrl, retainUntil, chain, acceptedAt } = delivery;
  const resultJson = await results.read(requestId);
  if (resultJson === undefined)
    throw new ServiceError('not-found', `the result of ${requestId} is kept no longer`);
  const now = new Date(clock.now()).toISOString();
  await kafka.publish(webhookRequested, {
    requestId,
    clientId,
    callbackUrl,
    resultJson,
    acceptedAt: acceptedAt ?? now,
    retainUntil,
    attemptCount: 0,
    asideCount: 0,
    dueAt: now,
    chain: chain + 1,
  });
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
