import { setTimeout as delay } from 'node:timers/promises';
import { quantile } from '../support/figures/quantile.ts';
import { reconcileUnderLoad } from '../support/judges/reconcile-under-load.ts';
import { spawnNode } from '../support/systems/spawn-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type BenchSystem, startBenchSystem, sumOf, usedBetween } from './bench-system.ts';
import { completeChecks } from './complete-checks.ts';
import type { Curve, Point } from './curve.ts';
import { newPlaces } from './grow.ts';
import type { Row, Table } from './row.ts';
import { makeWorkload, type Workload } from './workload.ts';

const RPC_LATENCY_MS = 20;
const SIZES = [1, 2, 4] as const;
const WARM_UP_COUNT = 3_000;
const COUNT = 6_000;
const PROBE_INTERVAL_MS = 50;
/** Evaluators that join and leave under load, and how long each stays. */
const GUESTS = 3;
const STAY_MS = 5_000;

type Scaled = {
  readonly evaluators: number;
  readonly perSecond: number;
  readonly perCpu: number;
  readonly p99Ms: number;
};

type Scaling = { readonly table: Table; readonly curve: Curve };

/** Measures one, two and four evaluators behind an RPC latency of 20 ms; then some join and leave under load. */
export async function benchScale(): Promise<Scaling> {
  const measured: Scaled[] = [];
  let kept = '';
  for (const evaluators of SIZES) {
    await using bench = await startBenchSystem({
      rpcLatencyMs: RPC_LATENCY_MS,
      args: ['--evaluators', String(evaluators)],
    });
    measured.push(await measure(bench, evaluators));
    if (evaluators === 1) kept = await comeAndGo(bench);
  }
  const one = measured[0];
  const row = (what: string, unit: string, of: (scaled: Scaled) => number): Row[] =>
    measured.map((each) => ({
      what: `${what}, ${each.evaluators} evaluators`,
      measured: of(each),
      unit,
      ...(one && each !== one && { against: { what: 'one', measured: of(one) } }),
    }));
  const points: Point[] = measured.map(({ evaluators, perSecond, p99Ms }) => ({
    x: evaluators,
    values: { 'checks per second': perSecond, 'p99 of sync checks beside it, ms': p99Ms },
  }));
  return {
    table: {
      title: `scale: evaluators behind an RPC latency of ${RPC_LATENCY_MS} ms`,
      rows: [
        ...row('completed checks', '1/s', ({ perSecond }) => perSecond),
        ...row('completed checks', '1/CPU s', ({ perCpu }) => perCpu),
        ...row('p99 of sync checks beside that load', 'ms', ({ p99Ms }) => p99Ms),
      ],
      notes: [kept],
    },
    curve: {
      title: 'Evaluators',
      xLabel: 'evaluators, all on this machine',
      yLabel: 'checks/s at full load, and p99 in ms of sync checks beside it',
      points,
    },
  };
}

async function measure(bench: BenchSystem, evaluators: number): Promise<Scaled> {
  const workload = await makeWorkload(bench.system.chain, 3);
  await completeChecks(bench, { workload, from: newPlaces(WARM_UP_COUNT), count: WARM_UP_COUNT });
  const done = new AbortController();
  const before = bench.cpuSeconds();
  const probing = probe(bench, workload, done.signal);
  const { seconds } = await completeChecks(bench, { workload, from: newPlaces(COUNT), count: COUNT });
  done.abort();
  const tookMs = await probing;
  const cpu = sumOf(usedBetween(before, bench.cpuSeconds()));
  const count = COUNT + tookMs.length;
  return { evaluators, perSecond: count / seconds, perCpu: count / cpu, p99Ms: quantile(tookMs, 0.99) };
}

/** Sends sync checks at a steady rate until stopped, and returns their durations, sorted. */
async function probe({ system }: BenchSystem, workload: Workload, signal: AbortSignal): Promise<number[]> {
  const tookMs: number[] = [];
  const open: Promise<void>[] = [];
  while (!signal.aborted) {
    const place = newPlaces(10);
    const began = performance.now();
    const ask = async (): Promise<void> => {
      const { status, text } = await system.client.check(workload.checkAt(place));
      if (status !== 200) throw new Error(`a sync check was answered with ${status}: ${text}`);
      workload.verify(place, text);
      tookMs.push(performance.now() - began);
    };
    open.push(ask());
    await delay(PROBE_INTERVAL_MS);
  }
  await Promise.all(open);
  return tookMs.sort((a, b) => a - b);
}

/** Evaluators join and leave under load. @throws Error if a check is lost or wrong */
async function comeAndGo({ system }: BenchSystem): Promise<string> {
  await using guests = new AsyncDisposableStack();
  const { counts, broken, faults } = await reconcileUnderLoad(system, async () => {
    const joined = Array.from({ length: GUESTS }, () =>
      guests.use(
        spawnNode(['services/evaluator/main.ts'], {
          ...system.environment(),
          OPS_HOST: '127.0.0.1',
          OPS_PORT: '0',
          KAFKA_SESSION_TIMEOUT_MS: '3000',
          KAFKA_HEARTBEAT_INTERVAL_MS: '500',
        }),
      ),
    );
    for (const guest of joined)
      await waitUntil('another evaluator', () => {
        if (guest.child.exitCode !== null) throw new Error(`an evaluator ended: ${guest.stdout()}`);
        return guest.stdout().includes('"msg":"ready"');
      });
    await delay(STAY_MS);
    for (const guest of joined) {
      const code = await guest.kill('SIGTERM');
      if (code !== 0) throw new Error(`an evaluator exited with ${code}: ${guest.stdout().slice(-2_000)}`);
    }
    await delay(STAY_MS);
  });
  if (broken.length > 0) throw new Error(`scaling broke a promise: ${JSON.stringify(faults)}`);
  return (
    `From 1 evaluator to ${1 + GUESTS} and back under load: ${counts.attempts} checks, ${counts.acknowledged} acknowledged, ` +
    `${counts.indeterminate} without an answer; none lost, none wrong, ${counts.undetermined} rules undetermined.`
  );
}
