import type { KafkaMessage } from 'kafkajs';
import type { KafkaConnection } from './connect.ts';
import { DEAD_LETTER, headersOf, writableHeaders } from './dead-letter.ts';

/** On a record of a dead-letter topic: the letter (`partition/offset`) that it says is dealt with. */
const SETTLES = 'rolecall-settles';
const SETTLED_AS = 'rolecall-settled-as';

export type DeadLetter = {
  /** The place in the dead-letter topic: the letter's name. */
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

const nameOf = (topic: string): string => `${topic}.dead-letter`;
const placeOf = ({ partition, offset }: Pick<DeadLetter, 'partition' | 'offset'>) => `${partition}/${offset}`;

/**
 * The letters of a source topic that nobody has dealt with, oldest first.
 *
 * A letter is settled by a record behind it that names it, so what was redriven or discarded stays on record.
 */
export async function listDeadLetters(kafka: Kafka, topic: string): Promise<DeadLetter[]> {
  const letters = new Map<string, DeadLetter>();
  const settled = new Set<string>();
  await kafka.readTopic({
    topic: nameOf(topic),
    apply: async (records, partition) => {
      for (const record of records) {
        const settles = headersOf(record)[SETTLES];
        if (settles) settled.add(settles);
        else letters.set(`${partition}/${record.offset}`, letterOf(record, partition));
      }
    },
  });
  return [...letters.values()]
    .filter((letter) => !settled.has(placeOf(letter)))
    .sort((a, b) => a.failedAt.localeCompare(b.failedAt));
}

/** Marks a letter as dealt with. */
export const settleDeadLetter = (
  kafka: Kafka,
  topic: string,
  letter: Pick<DeadLetter, 'partition' | 'offset'>,
  as: 'redriven' | 'discarded',
): Promise<void> =>
  kafka.publishRecord(nameOf(topic), {
    key: null,
    value: null,
    headers: { [SETTLES]: placeOf(letter), [SETTLED_AS]: as },
  });

/** Sends a letter's record to its source topic again, as it was, and settles the letter. */
export async function redriveDeadLetter(kafka: Kafka, topic: string, letter: DeadLetter): Promise<void> {
  const own = new Set<string>(Object.values(DEAD_LETTER));
  const headers = Object.fromEntries(
    Object.entries(writableHeaders(letter.record)).filter(([name]) => !own.has(name)),
  );
  const { key, value } = letter.record;
  // Where it was before: all records of a key are worked in the order of one partition.
  const partition = Number.parseInt(letter.origin.split('/')[1] ?? '', 10);
  const place = Number.isNaN(partition) ? {} : { partition };
  await kafka.publishRecord(topic, { key, value, headers, ...place });
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
