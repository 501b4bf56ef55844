import { setTimeout as delay } from 'node:timers/promises';
import { readLag } from '#shared/kafka/lag.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type BenchSystem, startBenchSystem } from '../system/bench-system.ts';
import { postChecks } from '../system/post-checks.ts';
import { makeWorkload } from '../system/workload.ts';
import type { Row, Table } from '../table.ts';

const ALONE_COUNT = 50;
const TOGETHER_COUNT = 500;
const IDLE_MS = 10_000;
/** Long enough that offsets and positions are written. */
const TRAIL_MS = 3_000;

/** Counted so far: Kafka records, Redis commands by clients, and commands inside of scripts. */
type Counts = { records: number; commands: number; inScripts: number };

/** The records and Redis commands of one check in each mode, one check at a time and 64 at once. */
export async function benchMessages(): Promise<Table> {
  await using receiver = await receiveWebhooks();
  await using bench = await startBenchSystem();
  const { chain, client, ready } = bench.system;
  const workload = await makeWorkload(chain, 3);
  await using counter = await startCounting(bench);
  const idle = await counter.during(() => delay(IDLE_MS));
  let from = 0;
  const alone = async (what: object, finish: (requestId: string) => Promise<unknown>) => {
    for (let i = 0; i < ALONE_COUNT; i++) {
      const { body } = await client.check({ ...workload.checkAt(from++), ...what });
      await finish(body.requestId ?? '');
    }
  };
  const poll = async (requestId: string) => {
    while ((await client.poll(requestId, 10)).status === 202);
  };
  const arrived = (requestId: string) => receiver.waitFor((webhook) => webhook.requestId === requestId);
  const together = async (mode: 'sync' | 'poll', callbackUrl?: string) => {
    const sent = { url: ready.gateways[0] ?? '', apiKeys: [ready.app.apiKey], workload, mode, callbackUrl };
    await postChecks({ ...sent, from, count: TOGETHER_COUNT });
    from += TOGETHER_COUNT;
  };
  const modes: readonly (readonly [string, number, () => Promise<void>])[] = [
    ['sync, alone', ALONE_COUNT, () => alone({}, async () => undefined)],
    ['sync, 64 at once', TOGETHER_COUNT, () => together('sync')],
    ['polled, alone, with its long poll', ALONE_COUNT, () => alone({ async: true }, poll)],
    ['polled, 64 at once, without polls', TOGETHER_COUNT, () => together('poll')],
    ['webhook, alone', ALONE_COUNT, () => alone({ callbackUrl: receiver.url }, arrived)],
    ['webhook, 64 at once', TOGETHER_COUNT, () => together('poll', receiver.url)],
  ];
  const rows: Row[] = [];
  for (const [name, count, work] of modes) {
    await work().then(() => drained(bench));
    const counted = await counter.during(async () => {
      await work();
      await drained(bench);
    });
    const perCheck = (what: keyof Counts) =>
      (counted.counts[what] - (idle.counts[what] * counted.ms) / idle.ms) / count;
    rows.push({ what: `${name}: Kafka records`, measured: perCheck('records'), unit: 'records' });
    rows.push({ what: `${name}: Redis commands`, measured: perCheck('commands'), unit: 'commands' });
    rows.push({ what: `${name}: commands in scripts`, measured: perCheck('inScripts'), unit: 'commands' });
  }
  return { title: 'messages: records and Redis commands of one check of 3 rules', rows };
}

/** Waits until no group has records left. */
async function drained({ open }: BenchSystem): Promise<void> {
  await delay(TRAIL_MS);
  await waitUntil('all records to be handled', async () => {
    const lag = await readLag(open.kafka.admin);
    return Object.values(lag).every((topics) => Object.values(topics).every((left) => left === 0));
  });
}

async function startCounting({ open }: BenchSystem) {
  const monitor = await open.redis.monitor();
  let [commands, inScripts] = [0, 0];
  monitor.on('monitor', (_time: string, _args: string[], source: string) => {
    if (source === 'lua') inScripts += 1;
    else commands += 1;
  });
  const countRecords = async () => {
    let records = 0;
    for (const topic of open.topics)
      for (const { high } of await open.kafka.admin.fetchTopicOffsets(topic.name)) records += Number(high);
    return records;
  };
  return {
    async during(work: () => Promise<unknown>): Promise<{ counts: Counts; ms: number }> {
      const records = await countRecords();
      const [commandsBefore, inScriptsBefore, began] = [commands, inScripts, performance.now()];
      await work();
      const ms = performance.now() - began;
      const counted = { commands: commands - commandsBefore, inScripts: inScripts - inScriptsBefore };
      return { counts: { ...counted, records: (await countRecords()) - records }, ms };
    },
    async [Symbol.asyncDispose]() {
      monitor.disconnect();
    },
  };
}
