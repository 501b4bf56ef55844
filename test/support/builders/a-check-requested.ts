import { randomUUID } from 'node:crypto';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';

const RETENTION_MS = 3_600_000;

/** The message of an accepted poll check of one account, with a unique id. */
export const aCheckRequested = (clientId: string, over: Partial<CheckRequested> = {}): CheckRequested => ({
  requestId: randomUUID(),
  clientId,
  accountId: `acc_of_${clientId}`,
  keyId: 'key_1',
  account: `0x${'1'.repeat(40)}`,
  rules: [{ type: 'NATIVE', chainId: 1, roleId: 'r', minToken: '1' }],
  onUndetermined: 'omit',
  consistency: { blockTag: 'latest', minBlock: {} },
  delivery: { mode: 'poll' },
  acceptedAt: new Date().toISOString(),
  retainUntil: new Date(Date.now() + RETENTION_MS).toISOString(),
  ...over,
});
