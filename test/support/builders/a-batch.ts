import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type {
  BatchDelivery,
  BatchPartCompleted,
  BatchPartRequested,
} from '#shared/contracts/batches/batch.ts';

const LATER_MS = 3_600_000;

/** The first of two parts of a batch of four entries. */
export const aBatchPart = (clientId: string, over: Partial<BatchPartRequested> = {}): BatchPartRequested => ({
  requestId: randomUUID(),
  clientId,
  accountId: `acc_of_${clientId}`,
  part: 0,
  partCount: 2,
  firstIndex: 0,
  entryCount: 4,
  delivery: { mode: 'poll' },
  acceptedAt: new Date().toISOString(),
  retainUntil: new Date(Date.now() + LATER_MS).toISOString(),
  entries: [1, 2].map((digit) => ({ account: `0x${String(digit).repeat(40)}` })),
  rules: [{ type: 'NATIVE', chainId: 1, roleId: 'r', minToken: '1' }],
  onUndetermined: 'omit',
  consistency: { blockTag: 'latest', minBlock: {} },
  ...over,
});

/** The completion of `aBatchPart`: one entry was granted, one denied. */
export const aBatchPartCompleted = (
  clientId: string,
  over: Partial<BatchPartCompleted> = {},
): BatchPartCompleted => ({
  requestId: randomUUID(),
  clientId,
  accountId: `acc_of_${clientId}`,
  part: 0,
  partCount: 2,
  firstIndex: 0,
  entryCount: 4,
  delivery: { mode: 'poll' },
  acceptedAt: new Date().toISOString(),
  retainUntil: new Date(Date.now() + LATER_MS).toISOString(),
  lineCount: 2,
  roles: [{ id: 'r', granted: 1, denied: 1, undetermined: 0 }],
  refundCount: 0,
  failedCount: 0,
  evaluatedAt: new Date().toISOString(),
  linesGzip: gzipSync('{"index":0}\n{"index":1}\n').toString('base64'),
  ...over,
});

/** The delivery of a part that a watcher requested. */
export const OF_WATCH = {
  mode: 'watch',
  partition: 3,
  check: {
    watchUid: 'app_1/w/1',
    why: { cause: 'schedule' },
    rules: 'set#1 latest',
    walletTimes: [],
    owed: {},
  },
} as const satisfies BatchDelivery;
