import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { startBenchSystem } from './bench-system.ts';
import { completeChecks } from './complete-checks.ts';
import type { Curve, Point } from './curve.ts';
import { measureChecks, newPlaces } from './grow.ts';
import { makeKafka } from './make-kafka.ts';
import { publishRequests } from './publish-requests.ts';
import { makeWorkload } from './workload.ts';

const COUNT = 3_000;
const GROUP = 'evaluator.bulk';
const ALL_PARTITIONS = Array.from({ length: checkRequestedBulk.partitionCount }, (_, i) => i);
/** The longest time for producing messages, in all. */
const FILL_MS_MAX = 480_000;
const FILL_STEP = 200_000;
const RPC_LATENCY_MS = 20;
/** A start together with Redis reads the records of the last two minutes again: those of this curve are older. */
const AGE_MS = 600_000;

/**
 * Measures the cost of a check, and the duration of a start, as the topics hold more processed messages. These are
 * published while no evaluator runs, and the evaluator's group is moved behind them.
 */
export async function growMessages(sizes: readonly number[]): Promise<Curve> {
  const points: Point[] = [];
  const starts: string[] = [];
  let held = 0;
  const until = Date.now() + FILL_MS_MAX;
  for (const size of sizes) {
    await using stack = new AsyncDisposableStack();
    // A new one each time: records behind the checks of the size before would be read again with those.
    const dataDir = mkdtempSync(join(tmpdir(), 'rolecall-bench-'));
    stack.defer(() => rmSync(dataDir, { recursive: true, force: true }));
    held = await fill(dataDir, size, until);
    const began = performance.now();
    await using bench = await startBenchSystem({ dataDir, rpcLatencyMs: RPC_LATENCY_MS });
    starts.push(`${((performance.now() - began) / 1_000).toFixed(1)} s`);
    const workload = await makeWorkload(bench.system.chain, 3);
    await completeChecks(bench, { workload, from: newPlaces(COUNT), count: COUNT });
    points.push({ x: held, values: await measureChecks(bench, { workload, count: COUNT }) });
    if (held < size) break;
  }
  const short = held < (sizes.at(-1) ?? 0) ? ` Producing ended after ${FILL_MS_MAX / 60_000} minutes.` : '';
  return {
    title: 'Messages in the topics',
    xLabel: 'messages in the bulk lane',
    yLabel: 'CPU ms of one check, by process',
    points,
    note: `Start to ready at each: ${starts.join(', ')}.${short}`,
  };
}

/** Fills an empty lane with `size` messages and returns how many there are then. */
async function fill(dataDir: string, size: number, until: number): Promise<number> {
  await using bench = await startBenchSystem({ dataDir, args: ['--evaluators', '0'] });
  const brokers = bench.system.environment()['KAFKA_BROKERS'] ?? '';
  const workload = await makeWorkload(bench.system.chain, 1);
  let count = 0;
  while (count < size && Date.now() < until) {
    const step = Math.min(FILL_STEP, size - count);
    const ids = await publishRequests({
      brokers,
      workload,
      from: 0,
      count: step,
      partitions: ALL_PARTITIONS,
      until,
      ageMs: AGE_MS,
    });
    count += ids.length;
    console.log(`  ${(count / 1e6).toFixed(1)} million messages`);
  }
  const admin = makeKafka(brokers).admin();
  await admin.connect();
  const ends = await admin.fetchTopicOffsets(checkRequestedBulk.name);
  const partitions = ends.map(({ partition, high }) => ({ partition, offset: high }));
  await admin.setOffsets({ groupId: GROUP, topic: checkRequestedBulk.name, partitions });
  await admin.disconnect();
  return count;
}
