import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChaosSystem } from './chaos-system.ts';

/** Resident memory of a process in MiB; 0 if it has ended. */
export function rssMibOf(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kib ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** A process's metrics as text; empty if it does not answer. */
export async function metricsOf(ops: string): Promise<string> {
  try {
    return await (await fetch(`${ops}/metrics`, { signal: AbortSignal.timeout(2_000) })).text();
  } catch {
    return '';
  }
}

/**
 * The sum over all series of a metric whose labels contain every given text.
 *
 * @example
 * sumOf(text, 'rolecall_results_saved_total', 'kind="copy"');
 */
export function sumOf(metrics: string, name: string, ...labels: string[]): number {
  let sum = 0;
  for (const line of metrics.split('\n')) {
    const isNamed = line.startsWith(`${name}{`) || line.startsWith(`${name} `);
    if (isNamed && labels.every((label) => line.includes(label)))
      sum += Number(line.slice(line.lastIndexOf(' ') + 1));
  }
  return sum;
}

const SAMPLE_MS = 250;

/** Watches the memory of the processes of a system, and samples what else is asked for, until it is
 * stopped. */
export function watchProcesses({ running }: Pick<ChaosSystem, 'running'>, alsoSample: () => Promise<void>) {
  const rss = new Map<string, number>();
  let isStopped = false;
  const sampling = (async () => {
    while (!isStopped) {
      for (const { service, pid } of running())
        rss.set(service, Math.max(rss.get(service) ?? 0, rssMibOf(pid)));
      await alsoSample();
      await delay(SAMPLE_MS);
    }
  })();
  const stop = async (): Promise<void> => {
    isStopped = true;
    await sampling;
  };
  return { rssMax: (service: string) => rss.get(service) ?? 0, stop, [Symbol.asyncDispose]: stop };
}
