import { randomBytes, randomUUID } from 'node:crypto';
import type { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import type { BatchClient } from '../../support/systems/batch-client.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { countEntries, type EntryCounts, judgeBatch } from '../judges/judge-batch.ts';
import type { ChaosSystem } from '../system/chaos-system.ts';

const HOLDER_EVERY = 10;
/** Longest wait for a batch to be accepted, to complete or to be read. */
export const BATCH_MS_MAX = 120_000;

export type FinishedBatch = {
  readonly status: BatchStatus;
  readonly counts: EntryCounts;
  /** The broken promises of this batch. */
  readonly faults: readonly string[];
};

type Options = {
  readonly chain: ChaosSystem['chain'];
  readonly client: BatchClient;
  readonly callbackUrl: string;
  readonly entries: number;
  /** Runs while the batch is sent; `accepted` resolves once it is accepted. */
  readonly injectFault?: (accepted: Promise<unknown>) => Promise<void>;
};

/**
 * Sends a batch, waits for its end through whatever faults there are, and compares the lines with
 * the chain and with the counts.
 */
export async function runBatch({
  chain,
  client,
  callbackUrl,
  entries,
  injectFault,
}: Options): Promise<FinishedBatch> {
  const { erc20, native } = demoRules(chain);
  const terms = [erc20(), native()].map(({ roleId: _, ...term }) => term);
  const rules = [
    erc20({ roleId: 'amount', minToken: '1500.5' }),
    native({ roleId: 'rich', minToken: '1' }),
    { type: 'SUM', roleId: 'sum', minToken: '1500.5', rules: terms },
  ];
  const accounts = Array.from({ length: entries }, (_, place) =>
    place % HOLDER_EVERY === 0 ? chain.holder : `0x${randomBytes(20).toString('hex')}`,
  );
  const key = randomUUID();
  const accepted = retryUntilAnswered(() => client.post({ rules, callbackUrl }, accounts, key));
  await injectFault?.(accepted);
  const requestId = await accepted;
  const status = await retryUntilAnswered(() => client.wait(requestId, BATCH_MS_MAX));
  const lines = await retryUntilAnswered(() => client.lines(requestId));
  // A line never changes between reads.
  const again = await retryUntilAnswered(() => client.lines(requestId));
  const counts = countEntries(lines, accounts, chain.holder);
  const faults = judgeBatch(status, lines, counts);
  if (JSON.stringify(again) !== JSON.stringify(lines)) faults.push('lines differ between two reads');
  return { status, counts, faults };
}

/** Repeats a request that fails while a process is away. */
const retryUntilAnswered = <T>(work: () => Promise<T>): Promise<T> =>
  waitUntil(
    'a batch to succeed despite the fault',
    () =>
      work()
        .then((value) => ({ value }))
        .catch(() => undefined),
    BATCH_MS_MAX,
  ).then(({ value }) => value);
