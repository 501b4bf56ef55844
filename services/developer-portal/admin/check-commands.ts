import { ServiceError } from '#shared/errors.ts';
import type { OpenSystem } from './open-system.ts';
import { showWebhook } from './webhook-commands.ts';

/** Commands about checks; each value is what `--json` prints. */

/** The stored result of a check, and the attempts of its webhook if it has one. */
export async function showCheck(system: OpenSystem, requestId: string) {
  const resultJson = await system.results.read(requestId);
  if (resultJson === undefined)
    throw new ServiceError('not-found', `no result of request ${requestId} is stored`);
  const hasDelivery = (await system.deliveries.read(requestId)) !== undefined;
  return {
    result: JSON.parse(resultJson) as unknown,
    ...(hasDelivery && { webhook: await showWebhook(system, requestId) }),
  };
}
