import type { KafkaMessage } from 'kafkajs';
import { erasesDocument, parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { describeError, isRetriable, ServiceError } from '#shared/errors.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { makeLogThrottle } from '#shared/telemetry/log-throttle.ts';
import { adoptTraceparent, traceIdOf } from '#shared/telemetry/traceparent.ts';
import { retry } from '#shared/wait-for.ts';
import { headersOf } from '../dead-letters.ts';
import { inConsumerSpan } from '../trace-messages.ts';
import type { WindowRecord } from './partition-window.ts';
import type { GiveUp, HandleErasure, Handler, RecordContext } from './record.ts';

const TRIES_MAX = 3;
const RETRY_DELAYS = { delayMs: 100, delayMsMax: 2_000 } as const;
/** While a store is away every running record is held: one log line reports all of them. */
const HELD_LOG_INTERVAL_MS = 2_000;

export const RECORD_OUTCOMES = ['handled', 'retried', 'dead-lettered', 'left'] as const;
export type RecordOutcome = (typeof RECORD_OUTCOMES)[number];

type Dependencies<M> = {
  readonly groupId: string;
  readonly topics: ReadonlyMap<string, Topic<M>>;
  readonly handle: Handler<M>;
  readonly handleErasure: HandleErasure | undefined;
  readonly giveUp: GiveUp<M> | undefined;
  readonly deadLetter: (record: KafkaMessage, at: RecordContext, error: unknown) => Promise<void>;
  readonly countOutcome: (topic: string, outcome: RecordOutcome) => void;
  readonly log: Logger;
};

/** Where a record comes from; the signal tells that it is left to the partition's next owner. */
type Place = Pick<RecordContext, 'topic' | 'partition' | 'signal'>;

type Tried = 'done' | 'left' | { readonly failed: unknown };

/**
 * Decides what happens to a record: the only function that lets an offset be committed.
 *
 * | the handler | the record |
 * | --- | --- |
 * | returns | committed |
 * | throws a retriable error (broker or store away) | held: retried after 100 ms to 2 s until it succeeds, the process stops, or the partition is lost |
 * | throws any other error | tried 3 times in all, then given up, dead-lettered, committed |
 * | cannot be called because the record is unreadable | given up, dead-lettered, committed |
 *
 * A dead-letter record that the broker refuses is written without its value: its headers name the
 * source's position.
 */
export function makeProcessRecord<M>(deps: Dependencies<M>) {
  const suppressedCount = makeLogThrottle(HELD_LOG_INTERVAL_MS);
  const logError = (at: RecordContext, error: unknown, message: string, fields: object = {}): void =>
    deps.log.error({ ...positionOf(at), ...fields, error: describeError(error) }, message);
  const retryWhileAway = async (attempt: () => Promise<void>, at: RecordContext): Promise<Tried> => {
    const onRetry = (error: unknown): void => {
      deps.countOutcome(at.topic, 'retried');
      at.alive();
      const others = suppressedCount();
      if (others !== undefined)
        deps.log.warn({ ...positionOf(at), others, error: describeError(error) }, 'record held: retrying');
    };
    try {
      await retry(attempt, { ...RETRY_DELAYS, signal: at.signal, onRetry });
      return 'done';
    } catch (failed) {
      return isRetriable(failed) ? 'left' : { failed };
    }
  };

  const tryHandler = async (
    handle: (at: RecordContext) => Promise<void>,
    at: RecordContext,
  ): Promise<Tried> => {
    for (let tries = 1; ; tries++) {
      const outcome = await retryWhileAway(() => inConsumerSpan(at, deps.groupId, handle), at);
      if (typeof outcome === 'string') return outcome;
      logError(at, outcome.failed, 'record failed', { tries, stack: stackOf(outcome.failed) });
      if (tries >= TRIES_MAX || isFinal(outcome.failed)) return outcome;
      if (at.signal.aborted) return 'left';
    }
  };

  return async function processRecord(
    entry: WindowRecord<M>,
    place: Place,
    park: RecordContext['park'],
  ): Promise<boolean> {
    const { topic } = place;
    const at = contextOf(entry, place, park);
    const { message, error, isErasure } = entry.parsed ?? { message: undefined, error: undefined };
    const work = isErasure
      ? async () => deps.handleErasure?.(at.key, at.topic)
      : message !== undefined && ((inSpan: RecordContext) => deps.handle(message, inSpan));
    const outcome = work ? await tryHandler(work, at) : { failed: error };
    if (typeof outcome === 'string') {
      deps.countOutcome(topic, outcome === 'done' ? 'handled' : 'left');
      if (deps.log.isLevelEnabled('debug'))
        deps.log.debug({ ...positionOf(at), outcome }, 'record processed');
      return outcome === 'done';
    }
    const terminal = await retryWhileAway(
      async () => deps.giveUp?.({ message, record: at, error: outcome.failed }),
      at,
    );
    if (terminal === 'left') return false;
    if (typeof terminal === 'object')
      logError(at, terminal.failed, 'the terminal result of a record could not be written');
    const writeDeadLetter = (record: KafkaMessage) =>
      retryWhileAway(() => deps.deadLetter(record, at, outcome.failed), at);
    let deadLettered = await writeDeadLetter(entry.record);
    if (typeof deadLettered === 'object') {
      logError(at, deadLettered.failed, 'dead-letter record refused: writing it without its value');
      deadLettered = await writeDeadLetter({ ...entry.record, value: null });
    }
    deps.countOutcome(topic, deadLettered === 'done' ? 'dead-lettered' : 'left');
    if (deadLettered === 'done') logError(at, outcome.failed, 'record dead-lettered');
    return deadLettered === 'done';
  };
}

export function makeParseRecord<M>(topics: ReadonlyMap<string, Topic<M>>, dueAtOf?: (message: M) => number) {
  return function parseRecord(record: KafkaMessage, topicName: string) {
    try {
      const topic = topics.get(topicName);
      if (!topic) throw new ServiceError('message-unreadable', 'the topic of the record is not declared');
      if (erasesDocument(topic, record.value))
        return { message: undefined, error: undefined, dueAtMs: 0, isErasure: true };
      const message = parseMessage(topic, record.value);
      return { message, error: undefined, dueAtMs: dueAtOf?.(message) ?? 0 };
    } catch (error) {
      return { message: undefined, error, dueAtMs: 0 };
    }
  };
}

/** An unreadable message stays unreadable: one try is enough. */
const isFinal = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'message-unreadable';

function contextOf(
  entry: WindowRecord<unknown>,
  { topic, partition, signal }: Place,
  park: RecordContext['park'],
): RecordContext {
  const { record, offset, key } = entry;
  const headers = headersOf(record);
  return {
    topic,
    partition,
    offset: String(offset),
    key,
    headers,
    traceparent: adoptTraceparent(headers['traceparent']),
    timestampMs: Number(record.timestamp),
    value: record.value,
    signal,
    alive: () => {
      entry.aliveAtMs = performance.now();
    },
    park,
  };
}

const positionOf = ({ topic, partition, offset, key, traceparent }: RecordContext) => ({
  topic,
  partition,
  offset,
  key,
  traceId: traceIdOf(traceparent),
});
const stackOf = (error: unknown): string | undefined => (error instanceof Error ? error.stack : undefined);
