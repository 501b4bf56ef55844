import { ALL_TOPICS, SOURCE_TOPICS } from '#shared/contracts/all-topics.ts';
import { ServiceError } from '#shared/errors.ts';
import type { DeadLetter } from '#shared/kafka/dead-letters.ts';
import { listDeadLetters, redriveDeadLetter, settleDeadLetter } from '#shared/kafka/dead-letters.ts';
import { readLag } from '#shared/kafka/lag.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { waitUntilWhole } from '#shared/views/keep-views.ts';
import { rebuildViews } from '#shared/views/rebuild-views.ts';
import { readEndpointStates } from './endpoint-states.ts';
import type { LocalSystem } from './local-system.ts';
import type { OpenSystem } from './open-system.ts';

/** Each command is a function of an open system; its value is what `--json` prints. */
type Command<A extends unknown[], T> = (system: OpenSystem, ...args: A) => Promise<T>;

export const status: Command<[LocalSystem | undefined], unknown> = async ({ kafka }, local) => ({
  processes: local?.processes ?? [],
  endpoints: await readEndpointStates(local?.processes ?? []),
  lag: await readLag(kafka.admin),
});

export const applyDeclaredTopics: Command<[], unknown> = ({ kafka }) => applyTopics(kafka.admin, ALL_TOPICS);

/** Takes the marker away and makes the views anew, itself or by waiting for the result-store that was faster. */
export const rebuildStore: Command<[], unknown> = async (system) => {
  await system.views.invalidate();
  const counts = await rebuildViews({ ...system, now: system.clock.now });
  if (counts) return { rebuilt: counts };
  await waitUntilWhole(system.views);
  return { rebuilt: 'by another process' };
};

export const listLetters: Command<[string], unknown> = async ({ kafka }, topic) =>
  (await listDeadLetters(kafka, sourceTopic(topic))).map(summaryOf);

export const inspectLetter: Command<[string, number, number], unknown> = async (
  { kafka },
  topic,
  partition,
  offset,
) => {
  const letter = await findLetter(kafka, topic, partition, offset);
  return { ...summaryOf(letter), value: letter.record.value?.toString() ?? null };
};

/** Sends letters again, but for checks that have their result: that one is final, so the work would be for nothing. */
export const redriveLetters: Command<[string, number], unknown> = async (
  { kafka, results },
  topic,
  sinceMs,
) => {
  const letters = (await listDeadLetters(kafka, sourceTopic(topic))).filter(
    (l) => Date.parse(l.failedAt) >= sinceMs,
  );
  const isCheck = topic.startsWith('check.requested.');
  const stored = isCheck ? await results.readMany(letters.map(({ key }) => key)) : [];
  let count = 0;
  for (const [index, letter] of letters.entries()) {
    if (stored[index] !== undefined) continue;
    await redriveDeadLetter(kafka, topic, letter);
    count++;
  }
  return { count, skipped: letters.length - count };
};

export const discardLetter: Command<[string, number, number], unknown> = async (
  { kafka },
  topic,
  partition,
  offset,
) => {
  await settleDeadLetter(kafka, topic, await findLetter(kafka, topic, partition, offset), 'discarded');
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

async function findLetter(kafka: OpenSystem['kafka'], topic: string, partition: number, offset: number) {
  const letters = await listDeadLetters(kafka, sourceTopic(topic));
  const letter = letters.find((l) => l.partition === partition && l.offset === offset);
  if (!letter)
    throw new ServiceError('not-found', `${topic} has no open dead letter at ${partition} ${offset}`);
  return letter;
}

function sourceTopic(topic: string): string {
  if (SOURCE_TOPICS.some(({ name }) => name === topic)) return topic;
  const known = SOURCE_TOPICS.map(({ name }) => name).join(', ');
  throw new ServiceError('usage-invalid', `there is no topic ${topic}; there are ${known}`);
}
