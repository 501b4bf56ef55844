import type { Command } from 'commander';
import { SOURCE_TOPICS } from '#shared/contracts/topics.ts';
import { ServiceError } from '#shared/errors.ts';
import {
  type DeadLetter,
  listDeadLetters,
  redriveDeadLetter,
  settleDeadLetter,
} from '#shared/kafka/dead-letters.ts';
import { readLag } from '#shared/kafka/lag.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { waitUntilComplete } from '#shared/stores/replay/keep-views.ts';
import { replayTopics } from '#shared/stores/replay/replay-topics.ts';
import { existing } from '../../features/basis.ts';
import { adderTo, addGroup, instant, type Run, wholeNumber } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

/** Invalidates the views and rebuilds them, or waits for a result-store that started the rebuild
 * first. */
async function rebuildStore(system: OpenSystem) {
  await system.views.invalidate();
  const counts = await replayTopics({ ...system, now: system.now });
  if (counts) return { rebuilt: counts };
  await waitUntilComplete(system.views);
  return { rebuilt: 'by another process' };
}

/** Whether each chain can be read now, and the last report of an evaluator on its endpoints. */
async function listEndpoints({ chainReports, chainStates }: OpenSystem) {
  const reports = await chainReports.read();
  const states = await chainStates.read(reports.map(({ chainId }) => chainId));
  return reports.flatMap(({ chainId, endpoints }) =>
    endpoints.map(({ endpoint, name, method, problems }) => {
      const { state } = states.get(chainId) ?? { state: 'unknown' };
      return { chainId, chain: state, endpoint: name ?? endpoint, method, problems };
    }),
  );
}

/** Redrives dead-lettered records. Checks that have a result are skipped: a result is final. */
async function redriveRecords(
  { kafka, results, views }: OpenSystem,
  topic: string,
  { since }: { since: number },
) {
  const records = (await recordsOf(kafka, topic)).filter(({ failedAt }) => Date.parse(failedAt) >= since);
  const isCheck = topic.startsWith('check.requested.');
  // A check whose result a replay has not brought back would be evaluated again.
  await waitUntilComplete(views);
  const stored = isCheck ? await results.readMany(records.map(({ key }) => key)) : [];
  let count = 0;
  for (const [index, deadLettered] of records.entries()) {
    if (stored[index] !== undefined) continue;
    await redriveDeadLetter(kafka, topic, deadLettered);
    count++;
  }
  return { count, skipped: records.length - count };
}

const summaryOf = ({ record: _, ...shown }: DeadLetter) => shown;

/** @throws ServiceError `usage-invalid` for a topic without dead-lettered records */
function recordsOf(kafka: OpenSystem['kafka'], topic: string) {
  const names = SOURCE_TOPICS.map(({ name }) => name);
  if (names.includes(topic)) return listDeadLetters(kafka, topic);
  throw new ServiceError('usage-invalid', `there is no topic ${topic}; the topics are ${names.join(', ')}`);
}

async function findRecord(kafka: OpenSystem['kafka'], topic: string, partition: number, offset: number) {
  const records = await recordsOf(kafka, topic);
  return existing(
    records.find((record) => record.partition === partition && record.offset === offset),
    `topic ${topic} has no unsettled dead-lettered record at partition ${partition}, offset ${offset}`,
  );
}

export function addSystem(program: Command, run: Run): void {
  adderTo(program, run)('status', async (system) => ({
    processes: system.processes,
    endpoints: await listEndpoints(system),
    lag: await readLag(system.kafka.admin),
  })).description('processes of a local system, RPC endpoints, and the lag of each consumer group');
  const addTopics = addGroup(program, run, 'topics', 'topics of the broker');
  addTopics('apply', async ({ kafka, topics, retention }) => ({
    ...(await applyTopics(kafka.admin, topics)),
    retention,
  })).description('create missing topics, and set the others to their declared configuration');
  const addStore = addGroup(program, run, 'store', 'the Redis views');
  addStore('rebuild', rebuildStore).description('rebuild the Redis views from the topics');
  const add = addGroup(program, run, 'dead-letter', 'dead-lettered records, by source topic');
  add('list <topic>', async ({ kafka }, topic: string) =>
    (await recordsOf(kafka, topic)).map(summaryOf),
  ).description('list the records that are neither redriven nor discarded');
  const addOfRecord = (
    usage: string,
    work: (system: OpenSystem, topic: string, found: DeadLetter) => Promise<unknown>,
  ) =>
    add(usage, async (system, topic: string, partition: number, offset: number) =>
      work(system, topic, await findRecord(system.kafka, topic, partition, offset)),
    )
      .argument('<partition>', '', wholeNumber())
      .argument('<offset>', '', wholeNumber());
  addOfRecord('inspect <topic>', async (_system, _topic, found) => ({
    ...summaryOf(found),
    value: found.record.value?.toString() ?? null,
  })).description('one record with its content');
  add('redrive <topic>', redriveRecords)
    .description('publish the records to their source topic again')
    .option('--since <instant>', 'only records that failed at this instant or later', instant, 0);
  addOfRecord('discard <topic>', async ({ kafka }, topic, found) => {
    await settleDeadLetter(kafka, topic, found, 'discarded');
    return { discarded: true };
  }).description('settle one record without redriving it');
}
