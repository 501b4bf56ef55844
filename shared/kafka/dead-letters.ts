import type { IHeaders, KafkaMessage, Message } from 'kafkajs';
import { describeError } from '#shared/errors.ts';

/** Headers that a dead-lettered record has in addition to its own. */
const DEAD_LETTER = {
  code: 'rolecall-error-code',
  message: 'rolecall-error-message',
  failedAt: 'rolecall-failed-at',
  group: 'rolecall-failed-group',
  origin: 'rolecall-origin',
} as const;

/** Makes the record for the dead-letter topic: key, value and headers unchanged, plus the reason
 * and the origin. */
export function makeDeadLetter(
  record: KafkaMessage,
  origin: string,
  groupId: string,
  error: unknown,
): Message {
  const { code, message } = describeError(error);
  return {
    key: record.key,
    value: record.value,
    headers: {
      ...writableHeaders(record),
      [DEAD_LETTER.code]: code,
      [DEAD_LETTER.message]: message,
      [DEAD_LETTER.failedAt]: new Date().toISOString(),
      [DEAD_LETTER.group]: groupId,
      [DEAD_LETTER.origin]: origin,
    },
  };
}

/**
 * The headers of a record that kafkajs can write. Kafka allows a header without a value, also as
 * one of several of the same name; kafkajs reads it as null but cannot write it.
 */
function writableHeaders({ headers = {} }: Pick<KafkaMessage, 'headers'>): IHeaders {
  const isGiven = (value: unknown): boolean => value !== null;
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name, Array.isArray(value) ? value.filter(isGiven) : value] as const)
      .filter(([, value]) => isGiven(value) && !(Array.isArray(value) && value.length === 0)),
  );
}

/** The headers of a record as text: the first of a repeated header, and none without a value. */
export function headersOf(record: Pick<KafkaMessage, 'headers'>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(writableHeaders(record))) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) headers[name] = first.toString();
  }
  return headers;
}

/** Header of a record in a dead-letter topic that settles another one, named `partition/offset`. */
const SETTLES = 'rolecall-settles';
const SETTLED_AS = 'rolecall-settled-as';

export type DeadLetter = ReturnType<typeof letterOf>;
/** The parts of the connection that are used. */
type Kafka = {
  readonly readTopic: (options: {
    readonly topic: string;
    readonly apply: (records: readonly KafkaMessage[], partition: number) => Promise<void>;
  }) => Promise<unknown>;
  readonly publishRecord: (topic: string, record: Message) => Promise<void>;
};

const topicOf = (topic: string): string => `${topic}.dead-letter`;
const nameOf = ({ partition, offset }: Pick<DeadLetter, 'partition' | 'offset'>) => `${partition}/${offset}`;

/**
 * Lists the unsettled dead-lettered records of a source topic, oldest first.
 *
 * A record is settled by a later record that names it, so redriven and discarded records stay in
 * the topic.
 */
export async function listDeadLetters(kafka: Pick<Kafka, 'readTopic'>, topic: string): Promise<DeadLetter[]> {
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

export const settleDeadLetter = (
  kafka: Pick<Kafka, 'publishRecord'>,
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
export async function redriveDeadLetter(
  kafka: Pick<Kafka, 'publishRecord'>,
  topic: string,
  letter: DeadLetter,
): Promise<void> {
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

/** A dead-lettered record, named by its position in the dead-letter topic. */
function letterOf(record: KafkaMessage, partition: number) {
  const headers = headersOf(record);
  return {
    partition,
    offset: Number(record.offset),
    key: record.key?.toString() ?? '',
    error: { code: headers[DEAD_LETTER.code] ?? '', message: headers[DEAD_LETTER.message] ?? '' },
    failedAt: headers[DEAD_LETTER.failedAt] ?? new Date(Number(record.timestamp)).toISOString(),
    /** `topic/partition/offset` of the record that failed. */
    origin: headers[DEAD_LETTER.origin] ?? '',
    record,
  };
}
