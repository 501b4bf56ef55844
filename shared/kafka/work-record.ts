import { setTimeout as delay } from 'node:timers/promises';
import type { KafkaMessage } from 'kafkajs';
import { parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { describeError, isRetriable, ServiceError } from '#shared/errors.ts';
import { makeHeldBack } from '#shared/telemetry/held-back.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { adoptTraceparent, traceIdOf } from '#shared/telemetry/traceparent.ts';
import { headersOf } from './dead-letter.ts';
import type { WindowRecord } from './partition-window.ts';
import { inConsumerSpan } from './trace-messages.ts';
import type { WorkPlace } from './work-places.ts';

/** Where a record stands, and what travels beside its value. */
export type RecordAt = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The trace and span in which the record is worked: what follows from it is published with this one. */
  readonly traceparent: string;
  /** When the broker or the producer stamped it, epoch ms. */
  readonly timestampMs: number;
  /** The bytes as they were read. */
  readonly value: Buffer | null;
  /** Aborted when the process stops: waiting work may end, its record is then worked by the next owner. */
  readonly signal: AbortSignal;
  /** Says that the work goes on, where it waits for a broker or store that is away: liveness is not about these. */
  readonly alive: () => void;
  /**
   * Says that the work only waits from now on, for something outside of the process: the record takes no run place
   * meanwhile. Without effect while too many are parked; the offset stays uncommitted until the work is done.
   *
   * @param leave called when the process stops: the wait is to end, and the handler to throw a retriable error
   */
  readonly park: (leave: () => void) => void;
};

export type Handler<M> = (message: M, record: RecordAt) => Promise<void>;

/** A record that cannot be worked: called once before it is dead-lettered. */
export type GiveUp<M> = (failure: {
  message: M | undefined;
  record: RecordAt;
  error: unknown;
}) => Promise<void>;

const TRIES_MAX = 3;
const RETRY_DELAY_MS_MIN = 100;
const RETRY_DELAY_MS_MAX = 2_000;
/** While the store is away every record in hand is held: one of them speaks for all. */
const HELD_LOG_INTERVAL_MS = 2_000;

export const RECORD_OUTCOMES = ['handled', 'retried', 'dead-lettered', 'left'] as const;
export type RecordOutcome = (typeof RECORD_OUTCOMES)[number];

type Dependencies<M> = {
  readonly groupId: string;
  readonly topics: ReadonlyMap<string, Topic<M>>;
  readonly handle: Handler<M>;
  readonly giveUp: GiveUp<M> | undefined;
  readonly deadLetter: (record: KafkaMessage, at: RecordAt, error: unknown) => Promise<void>;
  readonly observe: (topic: string, outcome: RecordOutcome) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
};

/**
 * Decides what becomes of a record: the one place where an offset may be passed.
 *
 * | the handler | the record |
 * | --- | --- |
 * | returns | passed |
 * | throws a retriable error (broker or store away) | held, tried again after 100 ms to 2 s, until it works or the process stops |
 * | throws anything else | tried 3 times in all, then given up, dead-lettered, passed |
 * | cannot be called, the record being unreadable | given up, dead-lettered, passed |
 *
 * A dead letter that cannot be written goes without its value: where the record stands is written on it.
 */
export function makeWorkRecord<M>(deps: Dependencies<M>) {
  const heldBack = makeHeldBack(HELD_LOG_INTERVAL_MS);
  const hold = async (
    work: () => Promise<void>,
    at: RecordAt,
  ): Promise<'done' | 'left' | { failed: unknown }> => {
    for (let delayMs = RETRY_DELAY_MS_MIN; ; delayMs = Math.min(delayMs * 2, RETRY_DELAY_MS_MAX)) {
      try {
        await work();
        return 'done';
      } catch (error) {
        if (!isRetriable(error)) return { failed: error };
        if (deps.signal.aborted) return 'left';
        deps.observe(at.topic, 'retried');
        at.alive();
        const others = heldBack();
        if (others !== undefined)
          deps.log.warn({ ...place(at), others, error: describeError(error) }, 'record held, trying again');
        await delay(delayMs, undefined, { signal: deps.signal }).catch(() => undefined);
      }
    }
  };

  const tryHandler = async (message: M, at: RecordAt): Promise<'done' | 'left' | { failed: unknown }> => {
    for (let tries = 1; ; tries++) {
      const outcome = await hold(
        () => inConsumerSpan(at, deps.groupId, (inSpan) => deps.handle(message, inSpan)),
        at,
      );
      if (typeof outcome === 'string') return outcome;
      deps.log.error(
        { ...place(at), tries, error: describeError(outcome.failed), stack: stackOf(outcome.failed) },
        'record failed',
      );
      if (tries >= TRIES_MAX || isFinal(outcome.failed)) return outcome;
      if (deps.signal.aborted) return 'left';
    }
  };

  return async function workRecord(
    entry: WindowRecord<M>,
    topic: string,
    partition: number,
    park: WorkPlace['park'],
  ): Promise<boolean> {
    const at = recordAt(entry, topic, partition, park, deps.signal);
    const { message, error } = entry.parsed ?? { message: undefined, error: undefined };
    const outcome = message === undefined ? { failed: error } : await tryHandler(message, at);
    if (typeof outcome === 'string') {
      deps.observe(topic, outcome === 'done' ? 'handled' : 'left');
      if (deps.log.isLevelEnabled('debug')) deps.log.debug({ ...place(at), outcome }, 'record worked');
      return outcome === 'done';
    }
    const given = await hold(async () => deps.giveUp?.({ message, record: at, error: outcome.failed }), at);
    if (given === 'left') return false;
    if (typeof given === 'object')
      deps.log.error({ ...place(at), error: describeError(given.failed) }, 'giving up failed');
    const bury = (record: KafkaMessage) => hold(() => deps.deadLetter(record, at, outcome.failed), at);
    let parked = await bury(entry.record);
    if (typeof parked === 'object') {
      deps.log.error({ ...place(at), error: describeError(parked.failed) }, 'dead letter without its value');
      parked = await bury({ ...entry.record, value: null });
    }
    deps.observe(topic, parked === 'done' ? 'dead-lettered' : 'left');
    if (parked === 'done')
      deps.log.error({ ...place(at), error: describeError(outcome.failed) }, 'record dead-lettered');
    return parked === 'done';
  };
}

/** Parses a record on its first look. */
export function makeLookAtRecord<M>(topics: ReadonlyMap<string, Topic<M>>, dueAtOf?: (message: M) => number) {
  return function lookAtRecord(record: KafkaMessage, topicName: string) {
    try {
      const topic = topics.get(topicName);
      if (!topic) throw new ServiceError('message-unreadable', 'the record is of a topic nobody declared');
      const message = parseMessage(topic, record.value);
      return { message, error: undefined, dueAt: dueAtOf?.(message) ?? 0 };
    } catch (error) {
      return { message: undefined, error, dueAt: 0 };
    }
  };
}

/** A message refused for what it says is refused again: one try is enough. */
const isFinal = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'message-unreadable';

function recordAt(
  entry: WindowRecord<unknown>,
  topic: string,
  partition: number,
  park: WorkPlace['park'],
  signal: AbortSignal,
): RecordAt {
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

const place = ({ topic, partition, offset, key, traceparent }: RecordAt) => ({
  topic,
  partition,
  offset,
  key,
  traceId: traceIdOf(traceparent),
});
const stackOf = (error: unknown): string | undefined => (error instanceof Error ? error.stack : undefined);
