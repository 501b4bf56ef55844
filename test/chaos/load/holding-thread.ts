import { parentPort } from 'node:worker_threads';
import type { GroupHolder } from './hold-apart.ts';
import { type Counts, holdPlaces, noCounts } from './holders.ts';

/** How often the counts are told. */
const TELL_MS = 100;

const ended = new AbortController();
const counts: Record<string, Counts> = {};
const held: Promise<void>[] = [];
const telling = setInterval(() => parentPort?.postMessage(counts), TELL_MS);

parentPort?.on('message', (message: GroupHolder | 'end') => {
  if (message === 'end') return void end();
  const { group, ...holder } = message;
  counts[group] ??= noCounts();
  held.push(holdPlaces(holder, counts[group], ended.signal));
});

async function end(): Promise<void> {
  ended.abort();
  await Promise.all(held);
  clearInterval(telling);
  parentPort?.postMessage(counts);
  parentPort?.close();
}
