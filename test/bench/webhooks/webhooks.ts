import { fork } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { firstDelivery, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { newTraceparent } from '#shared/telemetry/traceparent.ts';
import { quantile } from '../../support/figures/quantile.ts';
import { spawnNode } from '../../support/systems/spawn-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Table } from '../table.ts';
import { startWebhookSystem, type WebhookSystem } from './webhook-system.ts';

const BURST_COUNT = 20_000;
/** Webhooks before each burst, on both sides, until the code is compiled. */
const BURST_WARM_UP_COUNT = 10_000;
/** Concurrent deliveries while CPU is measured: few enough that one receiver's eight slots keep
 * up. */
const OUTSTANDING_MAX = 256;
const STEADY_PER_SECOND = 50;
const STEADY_SECONDS = 24;
/** Receivers beside those of a steady run, with a webhook for each of theirs. */
const OTHERS_COUNT = 20;
/** The first second of a steady run warms connections up and is left out. */
const WARM_UP_COUNT = STEADY_PER_SECOND;

type Receivers = AsyncDisposable & {
  readonly healthy: readonly string[];
  readonly hanging: readonly string[];
  /** Arrival times by request id, epoch ms. */
  readonly arrivedAt: ReadonlyMap<string, number>;
};

/** Starts receivers in a process of their own. */
export async function startReceivers(healthyCount: number, hangingCount = 0): Promise<Receivers> {
  const child = fork(fileURLToPath(new URL('./webhook-receivers.ts', import.meta.url)), [
    String(healthyCount),
    String(hangingCount),
  ]);
  const [ports] = (await once(child, 'message')) as [{ healthy: number[]; hanging: number[] }];
  const arrivedAt = new Map<string, number>();
  child.on('message', ({ arrived }: { arrived: [string, number][] }) => {
    for (const [id, atMs] of arrived) if (!arrivedAt.has(id.slice(4))) arrivedAt.set(id.slice(4), atMs);
  });
  const urlOf = (port: number) => `http://127.0.0.1:${port}/hook`;
  return {
    healthy: ports.healthy.map(urlOf),
    hanging: ports.hanging.map(urlOf),
    arrivedAt,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

/** A result of three rules, about 600 bytes: the webhook's payload. */
const resultOf = (requestId: string): string =>
  JSON.stringify({
    requestId,
    status: 'completed',
    roles: ['gold', 'silver', 'bronze'].map((id) => ({ id, granted: true })),
    errors: [],
    evaluatedAt: new Date().toISOString(),
    blocks: {
      1: { number: 21e6, hash: `0x${randomBytes(32).toString('hex')}`, timestamp: 17e8, proved: true },
    },
  });

async function publishCheck(
  kafka: KafkaConnection,
  clientId: string,
  callbackUrl: string,
): Promise<{ requestId: string; publishedAt: number }> {
  const requestId = randomUUID();
  const publishedAt = performance.timeOrigin + performance.now();
  const now = Date.now();
  const about = {
    requestId,
    clientId,
    accountId: 'acc_bench',
    callbackUrl,
    acceptedAt: new Date(now).toISOString(),
    retainUntil: new Date(now + 3_600_000).toISOString(),
  };
  const check = { keyId: 'key_bench', request: { partition: 0, offset: 0 }, decided: true };
  const delivery = firstDelivery(about, { resultJson: resultOf(requestId), check });
  await kafka.publish(webhookRequested, delivery, { traceparent: newTraceparent() });
  return { requestId, publishedAt };
}

/** CPU seconds of a burst to `receiverCount` receivers, per process. */
async function measureBurst(system: WebhookSystem, receiverCount: number) {
  await using receivers = await startReceivers(receiverCount);
  const { healthy, arrivedAt } = receivers;
  const send = async (count: number) => {
    const target = arrivedAt.size + count;
    for (let sent = 0; sent < count; ) {
      while (arrivedAt.size < target - count + sent - OUTSTANDING_MAX) await delay(2);
      const batch = Math.min(64, count - sent);
      await Promise.all(
        Array.from({ length: batch }, (_, i) =>
          publishCheck(system.kafka, system.clientId, healthy[(sent + i) % healthy.length] ?? ''),
        ),
      );
      sent += batch;
    }
    await waitUntil('the burst to arrive', () => arrivedAt.size >= target, 120_000);
  };
  await send(BURST_WARM_UP_COUNT);
  const before = await system.cpuSeconds();
  const began = performance.now();
  await send(BURST_COUNT);
  const seconds = (performance.now() - began) / 1_000;
  await delay(500);
  const after = await system.cpuSeconds();
  const bare = spawnNode([
    'test/bench/webhooks/post-loop.ts',
    String(BURST_COUNT),
    String(BURST_WARM_UP_COUNT),
    resultOf(randomUUID()),
    ...healthy,
  ]);
  await bare.exited;
  const { cpuSeconds: bareCpu } = JSON.parse(bare.stdout()) as { cpuSeconds: number };
  const used = {
    dispatcher: after.dispatcher - before.dispatcher,
    kafka: after.kafka - before.kafka,
    redis: after.redis - before.redis,
  };
  return {
    used,
    seconds,
    perCpuSecond: BURST_COUNT / used.dispatcher,
    barePerCpuSecond: BURST_COUNT / bareCpu,
  };
}

/**
 * Latencies in ms, sorted, from the publishing of a result to its arrival, at 50 a second to
 * healthy receivers.
 *
 * @param others receivers that get as many webhooks, and are not measured
 */
async function measureSteady(
  system: WebhookSystem,
  healthyCount: number,
  others: 'none' | 'healthy' | 'hanging',
): Promise<number[]> {
  await using receivers = await startReceivers(healthyCount);
  await using beside = await startReceivers(
    others === 'healthy' ? OTHERS_COUNT : 0,
    others === 'hanging' ? OTHERS_COUNT : 0,
  );
  const otherUrls = [...beside.healthy, ...beside.hanging];
  const sent: { requestId: string; publishedAt: number }[] = [];
  const began = performance.now();
  for (let i = 0; i < STEADY_PER_SECOND * STEADY_SECONDS; i += 1) {
    const dueAt = began + (i * 1_000) / STEADY_PER_SECOND;
    await delay(Math.max(0, dueAt - performance.now()));
    const publish = (urls: readonly string[]) =>
      publishCheck(system.kafka, system.clientId, urls[i % urls.length] ?? '');
    if (otherUrls.length > 0) void publish(otherUrls);
    void publish(receivers.healthy).then((each) => sent.push(each));
  }
  await waitUntil(
    'the webhooks',
    () => sent.every(({ requestId }) => receivers.arrivedAt.has(requestId)),
    30_000,
  );
  return sent
    .slice(WARM_UP_COUNT)
    .map(({ requestId, publishedAt }) => (receivers.arrivedAt.get(requestId) ?? 0) - publishedAt)
    .sort((a, b) => a - b);
}

/** Measures the webhook dispatcher beside a bare keep-alive POST loop, on a separate system. */
export async function benchWebhooks(): Promise<Table> {
  await using system = await startWebhookSystem();
  const one = await measureBurst(system, 1);
  const hundred = await measureBurst(system, 100);
  const steady = await measureSteady(system, 1, 'none');
  const baseline = await measureSteady(system, 20, 'healthy');
  const besideHanging = await measureSteady(system, 20, 'hanging');
  const { dispatcher, kafka, redis } = one.used;
  const per1000 = (cpuSeconds: number) => (1_000 * cpuSeconds) / BURST_COUNT;
  const deliveries = (what: string, burst: typeof one) => ({
    what,
    measured: burst.perCpuSecond,
    unit: '1/CPU s',
    against: { what: 'bare POST loop', measured: burst.barePerCpuSecond },
    goal: { of: 'ratio' as const, min: 0.4 },
  });
  return {
    title: 'webhooks',
    rows: [
      deliveries('deliveries to 1 receiver', one),
      deliveries('deliveries to 100 receivers', hundred),
      {
        what: 'CPU per 1 000 webhooks, all processes',
        measured: per1000(dispatcher + kafka + redis),
        unit: 'CPU s',
        against: { what: 'Outpost tuned, measured elsewhere on 2 cores; Svix 0.9', measured: 0.55 },
        goal: { of: 'value', max: 0.25 },
      },
      {
        what: 'latency at 50/s, p50',
        measured: quantile(steady, 0.5),
        unit: 'ms',
        against: { what: 'Svix, measured elsewhere; Outpost 28', measured: 4 },
        goal: { of: 'value', max: 4 },
      },
      {
        what: 'latency at 50/s, p99',
        measured: quantile(steady, 0.99),
        unit: 'ms',
        against: { what: 'Outpost, measured elsewhere; Svix 63', measured: 53 },
        goal: { of: 'value', max: 10 },
      },
      {
        what: 'p99 of healthy receivers while half hang',
        measured: quantile(besideHanging, 0.99),
        unit: 'ms',
        against: { what: 'the same traffic, none hangs', measured: quantile(baseline, 0.99) },
        goal: { of: 'ratio', max: 1.3 },
      },
    ],
    notes: [
      `bursts of ${BURST_COUNT} webhooks of about 450 bytes, after ${BURST_WARM_UP_COUNT} to warm up; ${Math.round(BURST_COUNT / one.seconds)}/s to one receiver, ` +
        `${Math.round(BURST_COUNT / hundred.seconds)}/s to 100`,
      `CPU s per 1 000 webhooks: dispatcher ${per1000(dispatcher).toFixed(3)}, Kafka ${per1000(kafka).toFixed(3)}, ` +
        `Redis ${per1000(redis).toFixed(3)}`,
      'latency is from the publishing of the result to its arrival; 20 receivers, beside 20 more that get as many webhooks',
    ],
  };
}
