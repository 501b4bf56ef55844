import { batchWebhookOf } from '#shared/contracts/batch-status.ts';
import type { Batches } from '#shared/redis/batches.ts';
import type { Results } from '#shared/redis/results.ts';

type Dependencies = {
  readonly results: Pick<Results, 'read'>;
  readonly batches: Pick<Batches, 'readStatus'>;
};

/**
 * Reads the body of a webhook, byte for byte as it is sent on every attempt: a stored result, event of a watch or test
 * event, or the status of a finished batch. `undefined` once its retention has ended.
 *
 * @example
 * const body = await readWebhookBody({ results, batches }, requestId);
 */
export async function readWebhookBody(
  { results, batches }: Dependencies,
  requestId: string,
): Promise<string | undefined> {
  const resultJson = await results.read(requestId);
  if (resultJson !== undefined) return resultJson;
  const status = await batches.readStatus(requestId);
  return status?.status === 'completed' ? batchWebhookOf(status) : undefined;
}
