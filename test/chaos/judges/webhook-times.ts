import { CheckResult } from '#shared/contracts/checks/result.ts';
import type { ReceivedWebhook } from '../../support/fakes/receive-webhooks.ts';

/** How long after its result each request's first delivery arrived, in ms. */
export function latenessOf(deliveries: readonly ReceivedWebhook[]): number[] {
  const seen = new Set<string>();
  return deliveries.flatMap(({ requestId, body, atMs }) => {
    if (seen.has(requestId)) return [];
    seen.add(requestId);
    return [Math.max(0, atMs - Date.parse(CheckResult.parse(JSON.parse(body)).evaluatedAt))];
  });
}
