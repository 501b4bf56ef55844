import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PROCESSES, startBenchSystem, usedBetween } from '../system/bench-system.ts';
import { completeChecks } from '../system/complete-checks.ts';
import { makeWorkload } from '../system/workload.ts';
import type { Table } from '../table.ts';

const WORK_COUNT = 1_000;
/** Long enough that delayed work (commits, rotated samples, garbage collection) is finished. */
const SETTLE_MS = 12_000;
const IDLE_MS = 30_000;
/** Kafka and Redis are shown, but the goal covers only our services. */
const OURS = PROCESSES.filter((name) => name !== 'kafka' && name !== 'redis');

/** Measures how long the second start of a system takes, and its cost while no requests arrive. */
export async function benchIdle(): Promise<Table> {
  await using stack = new AsyncDisposableStack();
  const dataDir = mkdtempSync(join(tmpdir(), 'rolecall-bench-'));
  stack.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const startMs = await startOnce(dataDir);
  const began = performance.now();
  await using bench = await startBenchSystem({ dataDir });
  const againMs = performance.now() - began;
  const workload = await makeWorkload(bench.system.chain, 3);
  await completeChecks(bench, { workload, from: 0, count: WORK_COUNT });
  await delay(SETTLE_MS);
  const before = bench.cpuSeconds();
  const since = performance.now();
  await delay(IDLE_MS);
  const used = usedBetween(before, bench.cpuSeconds());
  const seconds = (performance.now() - since) / 1_000;
  const shareOf = (name: (typeof PROCESSES)[number]): number => (100 * used[name]) / seconds;
  return {
    title: 'idle: the second start, and a system without requests',
    rows: [
      {
        what: 'start to ready, second start',
        measured: againMs / 1_000,
        unit: 's',
        against: { what: 'the first', measured: startMs / 1_000 },
        goal: { of: 'value', max: 5 },
      },
      ...OURS.map((name) => ({
        what: `idle CPU, ${name}`,
        measured: shareOf(name),
        unit: '% of a core',
        goal: { of: 'value' as const, max: 1 },
      })),
    ],
    notes: [
      `over ${IDLE_MS / 1_000} s, after ${WORK_COUNT} checks and a rest; Kafka ${shareOf('kafka').toFixed(1)} %, Redis ${shareOf('redis').toFixed(1)} %`,
    ],
  };
}

async function startOnce(dataDir: string): Promise<number> {
  const began = performance.now();
  await using bench = await startBenchSystem({ dataDir });
  const tookMs = performance.now() - began;
  const workload = await makeWorkload(bench.system.chain, 3);
  await completeChecks(bench, { workload, from: 0, count: 100 });
  return tookMs;
}
