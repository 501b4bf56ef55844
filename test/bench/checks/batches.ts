import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { batchCompleted, checkRequestedBatch } from '#shared/contracts/batches/batch.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { MULTICALL3_CODE } from '../../support/contracts/multicall3-code.ts';
import { quantile } from '../../support/figures/quantile.ts';
import { type BatchClient, makeBatchClient } from '../../support/systems/batch-client.ts';
import { makeCheckClient } from '../../support/systems/check-client.ts';
import { MULTICALL3, measureViem } from '../chain/chain.ts';
import { type BenchSystem, startBenchSystem, sumOf, usedBetween } from '../system/bench-system.ts';
import { inRounds, leastOf } from '../system/least-of.ts';
import { rpcFiguresOf } from '../system/rpc-figures.ts';
import { startChild } from '../system/start-child.ts';
import { makeWorkload, type Workload } from '../system/workload.ts';
import type { Row, Table } from '../table.ts';
import { measurePlain, PLAIN_KEY } from './checks.ts';

const RULES = 3;
/** As in `checks.ts`. */
const RPC_LATENCY_MS = 20;
const ENTRIES = 100_000;
const WARM_UP_ENTRIES = 50_000;
const ROUNDS = 3;
const HOLDER_EVERY = 10;
/** Of a batch with sums, and of one with the same terms as single rules. */
const SUM_ENTRIES = 10_000;
/** What the holder has of the three tokens together. */
const HELD = '1513.5';
const WAIT_MS_MAX = 120_000;
/** Long enough that the processes have finished their work after the last entry. */
const TRAIL_MS = 300;
const PLAIN_CHECKS = 6_000;
/** Sync checks of another client app, while a batch runs and while none runs. */
const OTHERS_PER_SECOND = 40;
const OTHERS_QUIET_MS = 5_000;

type Round = {
  readonly perCpuSecond: number;
  readonly seconds: number;
  readonly shares: string;
  readonly others: number[];
};

/** Measures the cost of a batch entry over all processes, beside a server and a script without
 * Rolecall. */
export async function benchBatches(): Promise<Table> {
  await using bench = await startBenchSystem({ rpcLatencyMs: RPC_LATENCY_MS });
  const { chain, ready } = bench.system;
  const [apiKey = '', othersKey = ''] = await bench.makeApps(2);
  const url = ready.gateways[0] ?? '';
  const batches = makeBatchClient({ url, apiKey });
  const workload = await makeWorkload(chain, RULES);
  await callJsonRpc(chain.rpc, 'anvil_setCode', [MULTICALL3, MULTICALL3_CODE]);
  await using server = await startChild('checks/plain-server.ts', [
    bench.rpc,
    String(chain.chainId),
    PLAIN_KEY,
  ]);
  await measurePlain(server, workload, PLAIN_CHECKS);
  await runBatch(bench, batches, workload, WARM_UP_ENTRIES);
  const others = startOthers(url, othersKey, workload);
  await others.during(() => delay(OTHERS_QUIET_MS / 2));

  const plains: number[] = [];
  const rounds: Round[] = [];
  const quiet: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    plains.push((await measurePlain(server, workload, PLAIN_CHECKS)).perCpuSecond);
    quiet.push(...(await others.during(() => delay(OTHERS_QUIET_MS))).tookMs);
    rounds.push({ ...(await runBatch(bench, batches, workload, ENTRIES)), others: [] });
  }
  const busy: number[] = [];
  for (let round = 0; round < ROUNDS; round++)
    busy.push(...(await others.during(prepareBatch(bench, batches, workload, ENTRIES))).tookMs);
  const calls = await callsOf(bench, () => runBatch(bench, batches, workload, ENTRIES));
  const bytes = await bytesOf(bench, batches, workload);
  const sums = await measureSums(bench, batches, workload);
  const viem = await measureViem(chain.rpc, chain.erc20.toLowerCase());
  const best = leastOf(rounds, ({ perCpuSecond }) => 1 / perCpuSecond);
  const p99 = (tookMs: readonly number[]) =>
    quantile(
      [...tookMs].sort((a, b) => a - b),
      0.99,
    );
  const perCpu = (than: string, measured: number, min: number): Row => ({
    what: `entries of ${RULES} rules, all processes`,
    measured: best.perCpuSecond,
    unit: '1/CPU s',
    against: { what: than, measured },
    goal: { of: 'ratio', min },
  });
  return {
    title: `batches: ${ENTRIES} entries of ${RULES} rules, RPC latency ${RPC_LATENCY_MS} ms, one process of each service`,
    rows: [
      perCpu('Express + ethers, one check per account', Math.max(...plains), 25),
      perCpu('viem multicall of 100 in a script', viem.perCpuSecond / RULES, 5),
      {
        what: `${ENTRIES} entries, first byte to completed`,
        measured: Math.min(...rounds.map(({ seconds }) => seconds)),
        unit: 's',
        goal: { of: 'value', max: 3 },
      },
      {
        what: 'RPC calls per 1 000 reads of a batch',
        measured: calls,
        unit: 'calls',
        against: { what: 'one call per read', measured: 1_000 },
        goal: { of: 'value', max: 3 },
      },
      {
        what: `${SUM_ENTRIES} entries of a sum of ${RULES} terms, all processes`,
        measured: sums.added.perCpuSecond,
        unit: '1/CPU s',
        against: { what: `${RULES} single rules`, measured: sums.single.perCpuSecond },
      },
      {
        what: 'RPC calls of such a batch',
        measured: sums.added.calls,
        unit: 'calls',
        against: { what: `${RULES} single rules`, measured: sums.single.calls },
      },
      {
        what: "others' sync p99 while a batch runs",
        measured: p99(busy),
        unit: 'ms',
        against: { what: 'without it', measured: p99(quiet) },
        goal: { of: 'ratio', max: 2 },
      },
      {
        what: 'Redis bytes per entry',
        measured: bytes.redis,
        unit: 'bytes',
        goal: { of: 'value', max: 100 },
      },
      {
        what: 'Kafka bytes per entry',
        measured: bytes.kafka,
        unit: 'bytes',
        goal: { of: 'value', max: 250 },
      },
    ],
    notes: [
      `CPU µs per entry: ${best.shares}.`,
      `Others: ${OTHERS_PER_SECOND} sync checks per second of another client app; ${busy.length} while a batch ran, ${quiet.length} without one.`,
      'Every batch: the counts agree with the chain. Accounts are random, so that only their text compresses.',
      'viem: one script that reads three balances per entry and neither answers nor stores anything.',
    ],
  };
}

/** Makes the accounts of a batch, which takes this process 100 ms or more, and returns what sends
 * it and waits for its end. */
function prepareBatch(
  bench: BenchSystem,
  batches: BatchClient,
  workload: Workload,
  entries: number,
  rules: readonly object[] = workload.checkAt(0).rules,
) {
  const { holder } = bench.system.chain;
  const accounts = Array.from({ length: entries }, (_, place) =>
    place % HOLDER_EVERY === 0 ? holder : `0x${randomBytes(20).toString('hex')}`,
  );
  return () => runPrepared(bench, { batches, rules, accounts });
}

type PreparedBatch = {
  readonly batches: BatchClient;
  readonly rules: readonly object[];
  readonly accounts: readonly string[];
};

/** @throws Error if an entry is lost or its verdict is wrong */
async function runPrepared(bench: BenchSystem, { batches, rules, accounts }: PreparedBatch) {
  const entries = accounts.length;
  const before = bench.cpuSeconds();
  const began = performance.now();
  const requestId = await batches.post({ rules }, accounts);
  const { done, roles } = await batches.wait(requestId, WAIT_MS_MAX);
  const seconds = (performance.now() - began) / 1_000;
  await delay(TRAIL_MS);
  const used = usedBetween(before, bench.cpuSeconds());
  const holders = Math.ceil(entries / HOLDER_EVERY);
  const isRight = roles.every(({ granted, denied }) => granted === holders && denied === entries - holders);
  if (done !== entries || !isRight)
    throw new Error(`a batch ended wrong: ${JSON.stringify({ done, roles })}`);
  const shares = Object.entries(used).map(([name, cpu]) => `${name} ${((1e6 * cpu) / entries).toFixed(1)}`);
  return { requestId, seconds, perCpuSecond: entries / sumOf(used), shares: shares.join(', ') };
}

const runBatch = (...batch: Parameters<typeof prepareBatch>) => prepareBatch(...batch)();

/** The same terms as one sum and as single rules, in turn. */
async function measureSums(bench: BenchSystem, batches: BatchClient, workload: Workload) {
  const single = workload.checkAt(0).rules;
  const terms = single.map(({ roleId: _role, minToken: _min, ...term }) => term);
  const added = [{ type: 'SUM', roleId: 'added', minToken: HELD, rules: terms }];
  const measure = async (rules: readonly object[]) => {
    const before = await rpcFiguresOf(bench);
    const { perCpuSecond } = await runBatch(bench, batches, workload, SUM_ENTRIES, rules);
    return { perCpuSecond, calls: (await rpcFiguresOf(bench)).calls - before.calls };
  };
  const rounds = await inRounds(async () => ({ added: await measure(added), single: await measure(single) }));
  const least = (side: 'added' | 'single') =>
    leastOf(
      rounds.map((round) => round[side]),
      ({ perCpuSecond }) => 1 / perCpuSecond,
    );
  return { added: least('added'), single: least('single') };
}

/** Sends sync checks of another client app at an even rate, whether they are answered or not. */
function startOthers(url: string, apiKey: string, workload: Workload) {
  const client = makeCheckClient({ url, apiKey });
  let place = 0;
  return {
    async during(work: () => Promise<unknown>): Promise<{ readonly tookMs: number[] }> {
      const tookMs: number[] = [];
      const sent: Promise<void>[] = [];
      const send = async () => {
        const index = place++;
        const began = performance.now();
        const { text } = await client.check(workload.checkAt(index));
        tookMs.push(performance.now() - began);
        workload.verify(index, text);
      };
      const timer = setInterval(() => void sent.push(send()), 1_000 / OTHERS_PER_SECOND);
      await work().finally(() => clearInterval(timer));
      await Promise.all(sent);
      return { tookMs };
    },
  };
}

/** RPC calls of the evaluator per 1 000 reads. */
async function callsOf(bench: BenchSystem, work: () => Promise<unknown>): Promise<number> {
  const before = await rpcFiguresOf(bench);
  await work();
  const after = await rpcFiguresOf(bench);
  return (1_000 * (after.calls - before.calls)) / (after.reads - before.reads);
}

/** The Redis memory of an entry, and the size of its records in Kafka. */
async function bytesOf(bench: BenchSystem, batches: BatchClient, workload: Workload) {
  const { redis, kafka } = bench.open;
  const usedMemory = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const before = await usedMemory();
  const { requestId } = await runBatch(bench, batches, workload, ENTRIES);
  const after = await usedMemory();
  let kafkaBytes = 0;
  for (const { name } of [checkRequestedBatch, batchCompleted])
    await kafka.readTopic({
      topic: name,
      apply: async (records) => {
        for (const { key, value } of records)
          if (key?.toString().startsWith(`${requestId}/`)) kafkaBytes += key.length + (value?.length ?? 0);
      },
    });
  return { redis: (after - before) / ENTRIES, kafka: kafkaBytes / ENTRIES };
}
