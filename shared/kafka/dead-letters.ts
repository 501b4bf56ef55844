import type { KafkaMessage } from 'kafkajs';
import type { KafkaConnection } from './connect.ts';
import { DEAD_LETTER, headersOf, writableHeaders } from './dead-letter.ts';

/** Header of a record in a dead-letter topic that settles another one, named `partition/offset`. */
const SETTLES = 'rolecall-settles';
const SETTLED_AS = 'rolecall-settled-as';

/** A dead-lettered record, named by its position in the dead-letter topic. */
export type DeadLetter = {
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly error: { readonly code: string; readonly message: string };
  readonly failedAt: string;
  /** `topic/partition/offset` of the record that failed. */
  readonly origin: string;
  readonly record: KafkaMessage;
};

type Kafka = Pick<KafkaConnection, 'readTopic' | 'publishRecord'>;

const topicOf = (topic: string): string => `${topic}.dead-letter`;
const nameOf = ({ partition, offset }: Pick<DeadLetter, 'partition' | 'offset'>) => `${partition}/${offset}`;

/**
 * Lists the unsettled dead-lettered records of a source topic, oldest first.
 *
 * A record is settled by a later record that names it, so redriven and discarded records stay in the topic.
 */
export async function listDeadLetters(kafka: Kafka, topic: string): Promise<DeadLetter[]> {
  const letters = new Map<string, DeadLetter>();
  const settled = new Set<string>();
  await kafka.readTopic({
    topic: topicOf(topic),
    apply: async (records, partition) => {
      for (const record of records) {
        const settles = headersOf(record)[SETTLES];
        if (settles) settled.add(settles);
        else letters.set(`${partition}/${record.offset}`, letterOf(record, partition));
      }
    },
  });
  return [...letters.values()]
    .filter((letter) => !settled.has(nameOf(letter)))
    .sort((a, b) => a.failedAt.localeCompare(b.failedAt));
}

/** Settles a dead-lettered record. */
export const settleDeadLetter = (
  kafka: Kafka,
  topic: string,
  letter: Pick<DeadLetter, 'partition' | 'offset'>,
  as: 'redriven' | 'discarded',
): Promise<void> =>
  kafka.publishRecord(topicOf(topic), {
    key: null,
    value: null,
    headers: { [SETTLES]: nameOf(letter), [SETTLED_AS]: as },
  });

/** Sends a dead-lettered record to its source topic again, unchanged, and settles it. */
export async function redriveDeadLetter(kafka: Kafka, topic: string, letter: DeadLetter): Promise<void> {
  const own = new Set<string>(Object.values(DEAD_LETTER));
  const headers = Object.fromEntries(
    Object.entries(writableHeaders(letter.record)).filter(([name]) => !own.has(name)),
  );
  const { key, value } = letter.record;
  // To its old partition: the records of a key must stay in the order of one partition.
  const partition = Number.parseInt(letter.origin.split('/')[1] ?? '', 10);
  const target = Number.isNaN(partition) ? {} : { partition };
  await kafka.publishRecord(topic, { key, value, headers, ...target });
  await settleDeadLetter(kafka, topic, letter, 'redriven');
}

function letterOf(record: KafkaMessage, partition: number): DeadLetter {
  const headers = headersOf(record);
  return {
    partition,
    offset: Number(record.offset),
    key: record.key?.toString() ?? '',
    error: { code: headers[DEAD_LETTER.code] ?? '', message: headers[DEAD_LETTER.message] ?? '' },
    failedAt: headers[DEAD_LETTER.failedAt] ?? new Date(Number(record.timestamp)).toISOString(),
    origin: headers[DEAD_LETTER.origin] ?? '',
    record,
  };
}
