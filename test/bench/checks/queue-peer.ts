import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { startRedis } from '../../../deploy/local/infrastructure/redis.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { MULTICALL3_CODE } from '../../support/contracts/multicall3-code.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { MULTICALL3 } from '../chain/chain.ts';
import { type BenchSystem, sumOf, usedBetween } from '../system/bench-system.ts';
import { readResults } from '../system/complete-checks.ts';
import { cpuSecondsOf } from '../system/cpu-seconds.ts';
import { inRounds, leastOf } from '../system/least-of.ts';
import { postChecks } from '../system/post-checks.ts';
import { startChild } from '../system/start-child.ts';
import { makeWorkload, newPlaces, type Workload } from '../system/workload.ts';
import type { Row } from '../table.ts';
import { startReceivers } from '../webhooks/webhooks.ts';

const RULES = 3;
const COUNT = 3_000;
const WARM_UP_COUNT = 6_000;
const WAIT_MS_MAX = 120_000;
/** Long enough that the processes have finished their work after the last result. */
const TRAIL_MS = 300;
const KEY = 'rck_of_the_queue';
const THAN = 'Express + BullMQ + viem multicall';

/** A service that takes checks and completes them later. */
type Side = {
  readonly url: string;
  readonly apiKey: string;
  /** Of all its processes. */
  readonly cpuSeconds: () => number;
  /** The results of the ids, in their order, as soon as all are there. */
  readonly results: (requestIds: readonly string[]) => Promise<string[]>;
};

/**
 * Measures checks to be polled and by webhook beside the alternative as people build it: Express,
 * a queue in Redis with an append-only file synced every second, and a worker with viem.
 */
export async function besideQueue(bench: BenchSystem): Promise<Row[]> {
  const { chain, ready } = bench.system;
  await callJsonRpc(chain.rpc, 'anvil_setCode', [MULTICALL3, MULTICALL3_CODE]);
  const workload = await makeWorkload(chain, RULES);
  await using queue = await startQueue(bench.rpc);
  await using receivers = await startReceivers(1);
  const start = bench.cpuSeconds();
  const own: Side = {
    url: ready.gateways[0] ?? '',
    apiKey: ready.app.apiKey,
    cpuSeconds: () => sumOf(usedBetween(start, bench.cpuSeconds())),
    results: (requestIds) => readResults(bench, requestIds),
  };
  const [hook = ''] = receivers.healthy;
  const arrive = (requestIds: readonly string[]) =>
    waitUntil(
      'the webhooks',
      () => requestIds.every((requestId) => receivers.arrivedAt.has(requestId)),
      WAIT_MS_MAX,
    );
  const measure = (side: Side, count = COUNT) => completed(side, workload, count);
  const deliver = (side: Side, count = COUNT) => completed(side, workload, count, { hook, arrive });
  for (const side of [own, queue]) for (const run of [measure, deliver]) await run(side, WARM_UP_COUNT / 2);
  const rounds = await inRounds(async () => ({
    polled: { own: await measure(own), queue: await measure(queue) },
    webhook: { own: await deliver(own), queue: await deliver(queue) },
  }));
  return (['polled', 'webhook'] as const).flatMap((mode) => {
    const least = (side: 'own' | 'queue') =>
      leastOf(
        rounds.map((round) => round[mode][side]),
        ({ perCpuSecond }) => 1 / perCpuSecond,
      );
    const [mine, theirs] = [least('own'), least('queue')];
    const what = `checks of ${RULES} rules ${mode === 'polled' ? 'to be polled' : 'by webhook'}`;
    return [
      {
        what: `${what}, all processes`,
        measured: mine.perCpuSecond,
        unit: '1/CPU s',
        against: { what: THAN, measured: theirs.perCpuSecond },
        goal: { of: 'ratio', min: 3 },
      },
      {
        what,
        measured: mine.perSecond,
        unit: '1/s',
        against: { what: THAN, measured: theirs.perSecond },
      },
    ] satisfies Row[];
  });
}

type Hook = { readonly hook: string; readonly arrive: (requestIds: readonly string[]) => Promise<unknown> };

/** Sends checks and waits until each has its result, or its webhook has arrived.
 * @throws Error if a result is lost or wrong */
async function completed(side: Side, workload: Workload, count: number, webhooks?: Hook) {
  const from = newPlaces(count);
  const before = side.cpuSeconds();
  const began = performance.now();
  const { requestIds } = await postChecks({
    ...{ url: side.url, apiKeys: [side.apiKey], workload, from, count },
    ...{ mode: 'poll', callbackUrl: webhooks?.hook },
  });
  const stored = webhooks ? undefined : await side.results(requestIds);
  await webhooks?.arrive(requestIds);
  const seconds = (performance.now() - began) / 1_000;
  await delay(TRAIL_MS);
  const used = side.cpuSeconds() - before;
  const results = stored ?? (await side.results(requestIds));
  for (const [place, result] of results.entries()) workload.verify(from + place, result);
  return { perCpuSecond: count / used, perSecond: count / seconds };
}

/** Starts the queue's Redis, its server and its worker. */
async function startQueue(rpc: string): Promise<Side & AsyncDisposable> {
  await using scope = new AsyncDisposableStack();
  const [port = 0] = await findFreePorts(1);
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-queue-'));
  scope.defer(() => rmSync(dir, { recursive: true, force: true }));
  const redis = scope.use(await startRedis({ dir, port }));
  const server = scope.use(await startChild('checks/queue-server.ts', [String(port), KEY]));
  const worker = scope.use(await startChild('checks/queue-worker.ts', [String(port), rpc, MULTICALL3]));
  const queue = new Queue('checks', { connection: { host: '127.0.0.1', port } });
  scope.defer(() => queue.close());
  const running = scope.move();
  let completedBefore = 0;
  return {
    url: server.url,
    apiKey: KEY,
    cpuSeconds: () => cpuSecondsOf([redis.pid, server.pid, worker.pid]),
    async results(requestIds) {
      const until = completedBefore + requestIds.length;
      const isDone = async () => (await queue.getCompletedCount()) >= until;
      await waitUntil('the jobs to complete', isDone, WAIT_MS_MAX);
      completedBefore = until;
      const jobs = await Promise.all(requestIds.map((requestId) => queue.getJob(requestId)));
      return jobs.map((job) => JSON.stringify(job?.returnvalue));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
