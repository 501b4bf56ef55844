import type { IHeaders, KafkaMessage, Message } from 'kafkajs';
import { describeError } from '#shared/errors.ts';

/** Headers that a dead-lettered record has in addition to its own. */
export const DEAD_LETTER = {
  code: 'rolecall-error-code',
  message: 'rolecall-error-message',
  failedAt: 'rolecall-failed-at',
  group: 'rolecall-failed-group',
  origin: 'rolecall-origin',
} as const;

/** Makes the record for the dead-letter topic: key, value and headers unchanged, plus the reason and the origin. */
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
 * The headers of a record that kafkajs can write. Kafka allows a header without a value, also as one of several of the same name;
 * kafkajs reads it as null but cannot write it.
 */
export function writableHeaders({ headers = {} }: Pick<KafkaMessage, 'headers'>): IHeaders {
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
