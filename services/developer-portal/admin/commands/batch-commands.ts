import { ServiceError } from '#shared/errors.ts';
import type { OpenSystem } from '../open-system.ts';
import { showWebhook } from './webhook-commands.ts';

/** Commands about batches; each value is the output of `--json`. */

/** The status of a batch with its client app and stored parts, and the attempts of its webhook if it has one. */
export async function showBatch(system: OpenSystem, requestId: string) {
  const [status, progress] = await Promise.all([
    system.batches.readStatus(requestId),
    system.batches.readProgress(requestId),
  ]);
  if (!status || !progress) throw new ServiceError('not-found', `there is no batch ${requestId}`);
  const { clientId, partCount, storedPartCount } = progress;
  const hasDelivery = (await system.deliveries.read(requestId)) !== undefined;
  return {
    ...status,
    clientId,
    parts: { stored: storedPartCount, all: partCount },
    ...(hasDelivery && { webhook: await showWebhook(system, requestId) }),
  };
}
