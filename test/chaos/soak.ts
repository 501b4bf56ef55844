import { setTimeout as delay } from 'node:timers/promises';
import { receiveWebhooks } from '../support/fakes/receive-webhooks.ts';
import { makeRandom } from '../support/random.ts';
import { makeBatchClient } from '../support/systems/batch-client.ts';
import type { Fault, Scene } from './fault.ts';
import { entryFigures } from './judges/judge-batch.ts';
import { atMost, type Figure } from './judges/measure.ts';
import { type FinishedBatch, runBatch } from './load/run-batch.ts';
import { watchMembers } from './load/watched-members.ts';
import type { ChaosSystem } from './system/chaos-system.ts';
import { createApp } from './system/create-app.ts';
import { metricsOf, sumOf } from './system/process-facts.ts';

const VICTIMS = ['gateway', 'evaluator', 'result-store', 'webhook-dispatcher', 'watcher', 'redis'] as const;
/** The pause between two crashes. */
const EVERY_S_MIN = 10;
const EVERY_S_MAX = 30;
const SAMPLE_INTERVAL_MS = 5_000;
/** Entries of a batch, and the pause until the next one. */
const ENTRIES = 5_000;
const BATCHES_PAUSE_MS = 5_000;
/** Members of the watch, and the pause between two transfers of their tokens. */
const MEMBERS = 50;
const MOVES_PAUSE_MS = 1_000;
/** With fewer samples than this in a third, a service's growth is unknown. */
const SAMPLES_MIN = 2;
const GROWTH_MAX = 1.1;
const BYTES_PER_MIB = 2 ** 20;

/** The figures of one process at one instant. */
export type Sample = {
  readonly atS: number;
  readonly service: string;
  readonly pid: number;
  readonly rssMib: number;
  /** Open handles without the connections of clients, which clients open. */
  readonly handles: number;
  /** p99 of the event loop's delay, ms. */
  readonly delayMs: number;
};

/** F24. Its samples are in `samples` afterwards. */
export function makeSoak(samples: Sample[]): Fault {
  return {
    id: 'F24',
    title:
      'soak of three brokers, each other process killed at random, while batches, sums, watches and sign-ins run',
    // All results are polled at the end; those of sync checks are kept for an hour by default.
    needs: { brokers: 3, env: { SYNC_RESULT_RETENTION_HOURS: '72' } },
    signsIn: true,
    async run(scene) {
      const { system, seconds, scope, random } = scene;
      // Separate, so that a seed chooses the same victims however long a transfer takes.
      const moves = makeRandom(random.below(2 ** 31));
      const watched = await watchMembers(system, scope, { count: MEMBERS });
      await watched.watch();
      const began = performance.now();
      const endAt = began + seconds * 1_000;
      const [batches] = await Promise.all([
        runBatches(scene, endAt),
        repeatUntil(endAt, MOVES_PAUSE_MS, () => watched.move(moves)),
        crashUntil(scene, endAt),
        sampleUntil(system, samples, began, endAt),
      ]);
      await system.waitUntilReady();
      const settledS = await watched.untilRight();
      return async () => ({
        figures: [
          ...entryFigures(batches.map(({ counts }) => counts)),
          atMost("last move to a correct last event of a watch's member", settledS, 30, 's'),
          ...growthOf(samples),
        ],
        broken: [...batches.flatMap(({ faults }) => faults), ...(await watched.judge())],
      });
    },
  };
}

async function crashUntil({ system, random }: Scene, endAt: number): Promise<void> {
  while (performance.now() < endAt) {
    const victim = VICTIMS[random.below(VICTIMS.length)] ?? 'evaluator';
    await system.waitUntilReady();
    system.signal(victim, 'SIGKILL', random.below(3));
    const pauseS = EVERY_S_MIN + random.below(EVERY_S_MAX - EVERY_S_MIN);
    await delay(Math.min(pauseS * 1_000, Math.max(0, endAt - performance.now())));
  }
}

/** Sends one batch after the other, with a separate app, because the load's app must be charged for
 * the load only. */
async function runBatches({ system, scope }: Scene, endAt: number): Promise<FinishedBatch[]> {
  const app = await createApp(system, 'Batches');
  const { url } = scope.use(await receiveWebhooks({ secret: app.webhookSecret }));
  const client = makeBatchClient({ url: system.gateways[0]?.url ?? '', apiKey: app.apiKey });
  const finished: FinishedBatch[] = [];
  await repeatUntil(endAt, BATCHES_PAUSE_MS, async () => {
    finished.push(await runBatch({ chain: system.chain, client, callbackUrl: url, entries: ENTRIES }));
  });
  return finished;
}

async function repeatUntil(endAt: number, pauseMs: number, work: () => Promise<void>): Promise<void> {
  while (performance.now() < endAt) {
    await work();
    await delay(pauseMs);
  }
}

async function sampleUntil(
  system: ChaosSystem,
  samples: Sample[],
  began: number,
  endAt: number,
): Promise<void> {
  await repeatUntil(endAt, SAMPLE_INTERVAL_MS, async () => {
    for (const { service, pid, ops } of system.running()) {
      const text = ops === null ? '' : await metricsOf(ops);
      if (text === '') continue;
      samples.push({
        atS: (performance.now() - began) / 1_000,
        service,
        pid,
        rssMib: sumOf(text, 'process_resident_memory_bytes') / BYTES_PER_MIB,
        handles: sumOf(text, 'nodejs_active_handles_total') - sumOf(text, 'rolecall_http_connections'),
        delayMs: sumOf(text, 'nodejs_eventloop_lag_p99_seconds') * 1_000,
      });
    }
  });
}

/**
 * The last third of the run compared with its first, for each service: memory, and open handles
 * without the connections of clients. A killed process is continued by its replacement, so both
 * thirds have young and old processes.
 */
export function growthOf(samples: readonly Sample[]): Figure[] {
  const endS = Math.max(...samples.map(({ atS }) => atS));
  return [...Map.groupBy(samples, ({ service }) => service)].flatMap(([service, all]) => {
    const first = all.filter(({ atS }) => atS < endS / 3);
    const last = all.filter(({ atS }) => atS >= (2 * endS) / 3);
    if (Math.min(first.length, last.length) < SAMPLES_MIN) return [];
    const ratio = (of: (sample: Sample) => number): number => mean(last.map(of)) / mean(first.map(of));
    return [
      atMost(
        `${service}: memory, last third against first`,
        ratio(({ rssMib }) => rssMib),
        GROWTH_MAX,
        '×',
      ),
      atMost(
        `${service}: handles`,
        ratio(({ handles }) => handles),
        GROWTH_MAX,
        '×',
      ),
    ];
  });
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
