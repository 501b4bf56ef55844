import { randomUUID } from 'node:crypto';
import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import { firstDelivery, type NewWebhook } from '#shared/contracts/webhooks/webhook.ts';

const RETENTION_MS = 3_600_000;

/** The message of a poll check whose result is kept for an hour, with a unique id. */
export const aCheckCompleted = (clientId: string, over: Partial<CheckCompleted> = {}): CheckCompleted => ({
  requestId: randomUUID(),
  clientId,
  accountId: `acc_of_${clientId}`,
  keyId: 'key_1',
  request: { partition: 0, offset: 0 },
  mode: 'poll',
  acceptedAt: new Date().toISOString(),
  retainUntil: new Date(Date.now() + RETENTION_MS).toISOString(),
  decided: true,
  resultJson: '{"n":1}',
  ...over,
});

/** The message of the same check with a webhook: its result and its first delivery. */
export const aWebhookOfCheck = (
  clientId: string,
  {
    callbackUrl = 'https://example.com/',
    ...over
  }: Partial<CheckCompleted> & { readonly callbackUrl?: string } = {},
): NewWebhook => {
  const { keyId, request, decided, resultJson, ...about } = aCheckCompleted(clientId, over);
  return firstDelivery({ ...about, callbackUrl }, { resultJson, check: { keyId, request, decided } });
};
