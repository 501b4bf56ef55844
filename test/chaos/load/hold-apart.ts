import { Worker } from 'node:worker_threads';
import { type Counts, type Holder, noCounts } from './holders.ts';

/** A holder whose places are counted together with those of others in a group. */
export type GroupHolder = Holder & { readonly group: string };

/** Sent by the thread: what it has counted so far. */
type GroupCounts = Readonly<Record<string, Counts>>;

/**
 * Takes places in a thread of its own: its thousands of connections do not delay the clients whose
 * times are measured.
 */
export function startHolding() {
  const worker = new Worker(new URL('./holding-thread.ts', import.meta.url));
  let counts: GroupCounts = {};
  const { promise: failed, reject } = Promise.withResolvers<never>();
  worker.on('message', (latest: GroupCounts) => {
    counts = latest;
  });
  worker.on('error', reject);
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const end = (): Promise<void> => {
    worker.postMessage('end');
    return Promise.race([exited, failed]);
  };
  failed.catch(() => undefined);
  return {
    hold: (holder: GroupHolder): void => worker.postMessage(holder),
    countsOf: (group: string): Counts => counts[group] ?? noCounts(),
    /** Frees all places. @throws what the thread threw */
    end,
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}
