import { ALL_TOPICS, SOURCE_TOPICS } from '#shared/contracts/topics.ts';
import { ServiceError } from '#shared/errors.ts';
import type { DeadLetter } from '#shared/kafka/dead-letters.ts';
import { listDeadLetters, redriveDeadLetter, settleDeadLetter } from '#shared/kafka/dead-letters.ts';
import { readLag } from '#shared/kafka/lag.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { waitUntilComplete } from '#shared/stores/replay/keep-views.ts';
import { rebuildViews } from '#shared/stores/replay/rebuild-views.ts';
import { readEndpointStates } from '../endpoint-states.ts';
import type { LocalSystem } from '../local-system.ts';
import type { OpenSystem } from '../open-system.ts';

/** A command is a function of an open system; `--json` prints its value. */
type Command<A extends unknown[], T> = (system: OpenSystem, ...args: A) => Promise<T>;

export const status: Command<[LocalSystem | undefined], unknown> = async ({ kafka }, local) => ({
  processes: local?.processes ?? [],
  endpoints: await readEndpointStates(local?.processes ?? []),
  lag: await readLag(kafka.admin),
});

export const applyDeclaredTopics: Command<[], unknown> = ({ kafka }) => applyTopics(kafka.admin, ALL_TOPICS);

/** Invalidates the views and rebuilds them, or waits for a result-store that started the rebuild first. */
export const rebuildStore: Command<[], unknown> = async (system) => {
  await system.views.invalidate();
  const counts = await rebuildViews({ ...system, now: system.clock.now });
  if (counts) return { rebuilt: counts };
  await waitUntilComplete(system.views);
  return { rebuilt: 'by another process' };
};

export const listRecords: Command<[string], unknown> = async ({ kafka }, topic) =>
  (await listDeadLetters(kafka, sourceTopic(topic))).map(summaryOf);

export const inspectRecord: Command<[string, number, number], unknown> = async (
  { kafka },
  topic,
  partition,
  offset,
) => {
  const found = await findRecord(kafka, topic, partition, offset);
  return { ...summaryOf(found), value: found.record.value?.toString() ?? null };
};

/** Redrives dead-lettered records. Checks that have a result are skipped: a result is final. */
export const redriveRecords: Command<[string, number], unknown> = async (
  { kafka, results },
  topic,
  sinceMs,
) => {
  const records = (await listDeadLetters(kafka, sourceTopic(topic))).filter(
    (l) => Date.parse(l.failedAt) >= sinceMs,
  );
  const isCheck = topic.startsWith('check.requested.');
  const stored = isCheck ? await results.readMany(records.map(({ key }) => key)) : [];
  let count = 0;
  for (const [index, deadLettered] of records.entries()) {
    if (stored[index] !== undefined) continue;
    await redriveDeadLetter(kafka, topic, deadLettered);
    count++;
  }
  return { count, skipped: records.length - count };
};

export const discardRecord: Command<[string, number, number], unknown> = async (
  { kafka },
  topic,
  partition,
  offset,
) => {
  await settleDeadLetter(kafka, topic, await findRecord(kafka, topic, partition, offset), 'discarded');
  return { discarded: true };
};

const summaryOf = ({ partition, offset, key, error, failedAt, origin }: DeadLetter) => ({
  partition,
  offset,
  key,
  error,
  failedAt,
  origin,
});

async function findRecord(kafka: OpenSystem['kafka'], topic: string, partition: number, offset: number) {
  const records = await listDeadLetters(kafka, sourceTopic(topic));
  const found = records.find((l) => l.partition === partition && l.offset === offset);
  if (!found)
    throw new ServiceError(
      'not-found',
      `topic ${topic} has no unsettled dead-lettered record at partition ${partition}, offset ${offset}`,
    );
  return found;
}

function sourceTopic(topic: string): string {
  if (SOURCE_TOPICS.some(({ name }) => name === topic)) return topic;
  const known = SOURCE_TOPICS.map(({ name }) => name).join(', ');
  throw new ServiceError('usage-invalid', `there is no topic ${topic}; the topics are ${known}`);
}
