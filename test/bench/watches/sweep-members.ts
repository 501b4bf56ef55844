import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { checkRequestedBatch } from '#shared/contracts/batches/batch.ts';
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import {
  MEMBER_CHANGES_MAX,
  MEMBER_PARTITIONS,
  type WatchMember,
  watchMember,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { makeWatches } from '#shared/stores/watches/watches.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { serveOnLoopback } from '../../support/fakes/serve-on-loopback.ts';
import { quantile } from '../../support/figures/quantile.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type BenchSystem, startBenchSystem, sumOf, usedBetween } from '../system/bench-system.ts';
import { leastOf } from '../system/least-of.ts';
import { rpcFiguresOf } from '../system/rpc-figures.ts';
import type { Row } from '../table.ts';

const MEMBERS = 100_000;
/** Of these, added through the API, with their first event sent; the others are copies of them in
 * the view. */
const ADDED = 10_000;
const PARTITIONS = Array.from({ length: MEMBER_PARTITIONS }, (_, partition) => partition);
/** Copies written at a time. */
const COPIES = 1_000;
const RPC_LATENCY_MS = 20;
const ROUNDS = 2;
/** The longest time between sweeps that a watch may have. */
const LONGEST_S = 604_800;
const WAIT_MS_MAX = 600_000;
/** Long enough that the processes have finished their work after the last record. */
const TRAIL_MS = 1_000;
const BLOCKS = 30;
const BLOCK_MS = 1_000;
const TRANSFERS_PER_BLOCK = 10;

/** Measures members: 10 000 added and told, 100 000 kept and swept, and the time from a block to
 * its webhooks. */
export async function benchMembers(): Promise<{ rows: Row[]; notes: string[] }> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startReceiver());
  const bench = stack.use(await startBenchSystem({ rpcLatencyMs: RPC_LATENCY_MS }));
  const { client } = bench.system;
  const members = Array.from({ length: MEMBERS }, (_, place) => ({
    account: anAccount(),
    ref: `member-${place}`,
  }));
  await putWatch(bench, receiver);

  const redisBefore = await redisBytesOf(bench);
  const [addBegan, addBefore] = [performance.now(), bench.cpuSeconds()];
  const byApi = members.slice(0, ADDED);
  for (let at = 0; at < ADDED; at += MEMBER_CHANGES_MAX)
    await client.mustSend('POST', `${WATCHES_PATH}/bench/members`, {
      add: byApi.slice(at, at + MEMBER_CHANGES_MAX),
    });
  const addSeconds = (performance.now() - addBegan) / 1_000;
  await waitUntil('the first event of every member', () => receiver.firsts() >= ADDED, WAIT_MS_MAX);
  const toldSeconds = (performance.now() - addBegan) / 1_000;
  await delay(TRAIL_MS);
  const added = usedBetween(addBefore, bench.cpuSeconds());
  const redisAfter = await redisBytesOf(bench);
  await copyMembers(bench, members.slice(ADDED));

  const sweeps = [];
  for (let round = 0; round < ROUNDS; round++) sweeps.push(await sweepOnce(bench, receiver));
  const best = leastOf(sweeps, ({ cpuSeconds }) => cpuSeconds);
  const memberBytes = await memberBytesOf(bench);
  const kafkaBytes = await kafkaBytesOf(bench);
  const delays = await delaysOf(bench, receiver, byApi);
  const perMember = (bytes: number): number => bytes / MEMBERS;
  return {
    rows: [
      {
        what: `sweep of ${MEMBERS} members × 3 rules, all processes`,
        measured: best.cpuSeconds,
        unit: 'CPU s',
        goal: { of: 'value', max: 6 },
      },
      { what: 'sweep, start to end', measured: best.seconds, unit: 's' },
      { what: 'sweep, RPC calls', measured: best.calls, unit: 'calls' },
      {
        what: 'Redis bytes per member',
        measured: perMember(memberBytes),
        unit: 'bytes',
        goal: { of: 'value', max: 600 },
      },
      { what: 'Kafka bytes per member, kept for good', measured: kafkaBytes, unit: 'bytes' },
      { what: `${ADDED} members added by the API`, measured: addSeconds, unit: 's' },
      {
        what: 'member added, checked and notified, all processes',
        measured: (sumOf(added) / ADDED) * 1e3,
        unit: 'CPU ms',
      },
      {
        what: 'block to webhook, p50',
        measured: quantile(delays, 0.5),
        unit: 'ms',
        goal: { of: 'value', max: 1_000 },
      },
      {
        what: 'block to webhook, p99',
        measured: quantile(delays, 0.99),
        unit: 'ms',
        goal: { of: 'value', max: 2_000 },
      },
    ],
    notes: [
      `sweep, CPU µs per member: ${best.shares}; ${best.parts} parts.`,
      `${ADDED} members were added and told in ${toldSeconds.toFixed(0)} s; CPU µs per member: ${sharesOf(added, ADDED)}. The other ${MEMBERS - ADDED} were written to the view as copies of the first: their first events are not part of any figure.`,
      `Redis grew by ${Math.round((redisAfter - redisBefore) / ADDED)} bytes per member until every first event was sent; events are kept for 72 h.`,
      `block to webhook: ${delays.length} transfers in ${BLOCKS} blocks of ${BLOCK_MS / 1_000} s; RPC latency ${RPC_LATENCY_MS} ms.`,
    ],
  };
}

type BenchMember = { readonly account: string; readonly ref: string };

export const anAccount = (): string => `0x${randomBytes(20).toString('hex')}`;

/** Puts the watch `bench` of three rules; within a measurement, it is swept only when asked. */
export async function putWatch(
  { system: { chain, client } }: BenchSystem,
  receiver: Receiver,
): Promise<void> {
  const { erc20, erc721, erc1155 } = demoRules(chain);
  const rules = [erc20({ minToken: '1' }), erc721(), erc1155({ tokenId: '7', minToken: '10' })];
  await client.mustSend('PUT', '/access-control/rule-sets/three', { rules });
  await client.mustSend('PUT', `${WATCHES_PATH}/bench`, {
    ruleSet: 'three',
    callbackUrl: receiver.url,
    everySeconds: LONGEST_S,
    quotaShare: 1,
  });
}

/** Writes members to the view as copies of an added and notified one, as the view has them after
 * their publication. */
async function copyMembers(bench: BenchSystem, copies: readonly BenchMember[]): Promise<void> {
  const view = makeWatchMembers(bench.open.redis);
  const told = await readToldMember(bench);
  for (let at = 0; at < copies.length; at += COPIES)
    await Promise.all(
      copies.slice(at, at + COPIES).map(({ account, ref }) => {
        const copy = { ...told, memberId: ref, wallets: { account } };
        return view.write(undefined, copy, { isUnpublished: false });
      }),
    );
}

/** @throws Error if the first member of the only watch was not told its roles yet */
export async function readToldMember({ open: { redis } }: BenchSystem): Promise<WatchMember> {
  const watches = makeWatches(redis);
  const [watch] = (await Promise.all(PARTITIONS.map(watches.inPartition))).flat();
  if (watch === undefined) throw new Error('there is no watch');
  const { members } = await makeWatchMembers(redis).page(watchUid(watch), { countMax: 1 });
  const [told] = members;
  if (told === undefined || told.roles.length === 0) throw new Error('the first member was not told');
  return told;
}

/** @throws Error if the sweep sends an event: no role has changed */
export async function sweepOnce(bench: BenchSystem, receiver: Receiver) {
  const sweeps = makeWatchSweeps(bench.open.redis);
  const isRunning = async () => (await sweeps.running()).length > 0;
  const [events, before] = [receiver.events(), await rpcFiguresOf(bench)];
  const partsBefore = await countRecords(bench);
  const [cpuBefore, askedAt] = [bench.cpuSeconds(), performance.now()];
  await bench.system.client.mustSend('POST', `${WATCHES_PATH}/bench/check`);
  await waitUntil('the sweep to begin', isRunning, WAIT_MS_MAX);
  const began = performance.now();
  await waitUntil('the sweep to end', async () => !(await isRunning()), WAIT_MS_MAX);
  const ended = performance.now();
  await delay(TRAIL_MS);
  const used = usedBetween(cpuBefore, bench.cpuSeconds());
  if (receiver.events() !== events) throw new Error('a sweep without a change has sent events');
  return {
    used,
    cpuSeconds: sumOf(used),
    seconds: (ended - began) / 1_000,
    beginSeconds: (began - askedAt) / 1_000,
    calls: (await rpcFiguresOf(bench)).calls - before.calls,
    parts: (await countRecords(bench)) - partsBefore,
    shares: sharesOf(used),
  };
}

const sharesOf = (used: Readonly<Record<string, number>>, memberCount = MEMBERS): string =>
  Object.entries(used)
    .map(([name, seconds]) => `${name} ${((1e6 * seconds) / memberCount).toFixed(1)}`)
    .join(', ');

async function countRecords({ open }: BenchSystem): Promise<number> {
  const offsets = await open.kafka.admin.fetchTopicOffsets(checkRequestedBatch.name);
  return offsets.reduce((sum, { offset }) => sum + Number(offset), 0);
}

const redisBytesOf = async ({ open }: BenchSystem): Promise<number> =>
  Number(/used_memory:(\d+)/.exec(await open.redis.info('memory'))?.[1]);

/** The Redis memory of the members. */
export async function memberBytesOf({ open: { redis } }: BenchSystem): Promise<number> {
  let [cursor, bytes] = ['0', 0];
  do {
    const [next, keys] = await redis.scan(cursor, 'COUNT', 1_000);
    cursor = next;
    const mine = keys.filter((key) => /^(wm|wallets$)/.test(key));
    const sizes = await Promise.all(mine.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
    bytes += sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  } while (cursor !== '0');
  return bytes;
}

/** The size of a member's last record with its key: compaction keeps one. */
async function kafkaBytesOf({ open: { kafka } }: BenchSystem): Promise<number> {
  const last = new Map<string, number>();
  await kafka.readTopic({
    topic: watchMember.name,
    apply: async (records) => {
      for (const { key, value } of records)
        if (key) last.set(key.toString(), key.length + (value?.length ?? 0));
    },
  });
  return [...last.values()].reduce((sum, bytes) => sum + bytes, 0) / last.size;
}

/** Times from the mining of a block with transfers to the arrival of each event that it caused, in
 * ms, sorted. */
async function delaysOf(
  { system: { chain, client } }: BenchSystem,
  receiver: Receiver,
  members: readonly BenchMember[],
): Promise<number[]> {
  await waitUntil('following', async () => {
    type Watch = { following: { state: string }[] };
    const { following } = await client.mustSend<Watch>('GET', `${WATCHES_PATH}/bench`);
    return following.every(({ state }) => state === 'live');
  });
  await callJsonRpc(chain.rpc, 'evm_setAutomine', [false]);
  const minedAt = new Map<string, number>();
  for (let block = 0; block < BLOCKS; block++) {
    const some = members.slice(block * TRANSFERS_PER_BLOCK, (block + 1) * TRANSFERS_PER_BLOCK);
    for (const { account } of some) await transfer(chain, account);
    await callJsonRpc(chain.rpc, 'evm_mine', []);
    for (const { ref } of some) minedAt.set(ref, Date.now());
    await delay(BLOCK_MS);
  }
  await waitUntil('the events of all transfers', () => receiver.changes.size >= minedAt.size, WAIT_MS_MAX);
  return [...minedAt].map(([ref, at]) => (receiver.changes.get(ref) ?? 0) - at).sort((a, b) => a - b);
}

async function transfer({ rpc, erc20, holder }: BenchSystem['system']['chain'], to: string): Promise<void> {
  const word = (hex: string) => hex.padStart(64, '0');
  const data = `0xa9059cbb${word(to.slice(2))}${word((1_000_000).toString(16))}`;
  await callJsonRpc(rpc, 'eth_sendTransaction', [{ from: holder, to: erc20, data, gas: '0x186a0' }]);
}

type Receiver = AsyncDisposable & {
  readonly url: string;
  readonly firsts: () => number;
  readonly events: () => number;
  /** When the change of each member arrived, epoch ms. */
  readonly changes: ReadonlyMap<string, number>;
};

export async function startReceiver(): Promise<Receiver> {
  const counts = { firsts: 0, events: 0 };
  const changes = new Map<string, number>();
  const listener: RequestListener = (request, response) => {
    const atMs = Date.now();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.writeHead(204).end();
      const event = JSON.parse(Buffer.concat(chunks).toString()) as { cause: string; ref: string };
      counts.events += 1;
      if (event.cause === 'first') counts.firsts += 1;
      else changes.set(event.ref, atMs);
    });
  };
  const server = await serveOnLoopback(listener, { keepAliveMs: 60_000 });
  return {
    url: `${server.url}/`,
    firsts: () => counts.firsts,
    events: () => counts.events,
    changes,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
