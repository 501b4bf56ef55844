import { randomUUID } from 'node:crypto';
import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';

const RETENTION_MS = 3_600_000;

/** The message of a poll check whose result is kept for an hour, with a unique id. */
export const aCheckCompleted = (clientId: string, over: Partial<CheckCompleted> = {}): CheckCompleted => ({
  requestId: randomUUID(),
  clientId,
  accountId: `acc_of_${clientId}`,
  keyId: 'key_1',
  request: { partition: 0, offset: 0 },
  delivery: { mode: 'poll' },
  acceptedAt: new Date().toISOString(),
  retainUntil: new Date(Date.now() + RETENTION_MS).toISOString(),
  decided: true,
  resultJson: '{"n":1}',
  ...over,
});
