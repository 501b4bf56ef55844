import type { IHeaders, KafkaMessage, Message } from 'kafkajs';
import { describeError } from '#shared/errors.ts';

/** Headers that a dead letter has beside those of its record. */
export const DEAD_LETTER = {
  code: 'rolecall-error-code',
  message: 'rolecall-error-message',
  failedAt: 'rolecall-failed-at',
  group: 'rolecall-failed-group',
  origin: 'rolecall-origin',
} as const;

/** The dead letter of a record: its key, bytes and headers as they were, and why it could not be worked. */
export function makeDeadLetter(
  record: KafkaMessage,
  place: string,
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
      [DEAD_LETTER.origin]: place,
    },
  };
}

/** The headers of a record that can be written again: Kafka allows one without a value, kafkajs reads it, and fails to write it. */
export function writableHeaders({ headers = {} }: Pick<KafkaMessage, 'headers'>): IHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null));
}

/** The headers of a record as text; of a repeated header the first counts, and one without a value not at all. */
export function headersOf(record: Pick<KafkaMessage, 'headers'>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(writableHeaders(record))) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) headers[name] = first.toString();
  }
  return headers;
}
