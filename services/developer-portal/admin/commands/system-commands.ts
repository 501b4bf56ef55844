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
import { instant, type Run, wholeNumber } from '../command-line.ts';
import { readEndpointStates } from '../endpoint-states.ts';
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

/** Redrives dead-lettered records. Checks that have a result are skipped: a result is final. */
async function redriveRecords({ kafka, results, views }: OpenSystem, topic: string, sinceMs: number) {
  const records = (await recordsOf(kafka, topic)).filter(({ failedAt }) => Date.parse(failedAt) >= sinceMs);
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
  const found = (await recordsOf(kafka, topic)).find(
    (record) => record.partition === partition && record.offset === offset,
  );
  if (found) return found;
  throw new ServiceError(
    'not-found',
    `topic ${topic} has no unsettled dead-lettered record at partition ${partition}, offset ${offset}`,
  );
}

export function addSystem(program: Command, run: Run): void {
  program
    .command('status')
    .description('processes, RPC endpoints of a local system, and the lag of each consumer group')
    .action(() =>
      run(async ({ kafka }, local) => ({
        processes: local?.processes ?? [],
        endpoints: await readEndpointStates(local?.processes ?? []),
        lag: await readLag(kafka.admin),
      })),
    );
  program
    .command('topics')
    .description('topics of the broker')
    .command('apply')
    .description('create missing topics, and set the others to their declared configuration')
    .action(() =>
      run(async ({ kafka, topics, retention }) => ({
        ...(await applyTopics(kafka.admin, topics)),
        retention,
      })),
    );
  program
    .command('store')
    .description('the Redis views')
    .command('rebuild')
    .description('rebuild the Redis views from the topics')
    .action(() => run(rebuildStore));

  const deadLetter = program.command('dead-letter').description('dead-lettered records, by source topic');
  deadLetter
    .command('list <topic>')
    .description('list the records that are neither redriven nor discarded')
    .action((topic) => run(async ({ kafka }) => (await recordsOf(kafka, topic)).map(summaryOf)));
  deadLetter
    .command('inspect <topic>')
    .description('one record with its content')
    .argument('<partition>', '', wholeNumber)
    .argument('<offset>', '', wholeNumber)
    .action((topic, partition, offset) =>
      run(async ({ kafka }) => {
        const found = await findRecord(kafka, topic, partition, offset);
        return { ...summaryOf(found), value: found.record.value?.toString() ?? null };
      }),
    );
  deadLetter
    .command('redrive <topic>')
    .description('publish the records to their source topic again')
    .option('--since <instant>', 'only records that failed at this instant or later', instant, 0)
    .action((topic, { since }) => run((system) => redriveRecords(system, topic, since)));
  deadLetter
    .command('discard <topic>')
    .description('settle one record without redriving it')
    .argument('<partition>', '', wholeNumber)
    .argument('<offset>', '', wholeNumber)
    .action((topic, partition, offset) =>
      run(async ({ kafka }) => {
        const found = await findRecord(kafka, topic, partition, offset);
        await settleDeadLetter(kafka, topic, found, 'discarded');
        return { discarded: true };
      }),
    );
}
