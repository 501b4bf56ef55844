import { randomUUID } from 'node:crypto';
import type { CheckCompleted } from '#shared/contracts/check-completed.ts';

const RETENTION_MS = 3_600_000;

/** The message of a polled check that is kept for an hour, with an id of its own. */
export const aCheckCompleted = (clientId: string, over: Partial<CheckCompleted> = {}): CheckCompleted => ({
  requestId: randomUUID(),
  clientId,
  delivery: { mode: 'poll' },
  acceptedAt: new Date().toISOString(),
  retainUntil: new Date(Date.now() + RETENTION_MS).toISOString(),
  decided: true,
  resultJson: '{"n":1}',
  ...over,
});
