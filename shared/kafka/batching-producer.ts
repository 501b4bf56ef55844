import { setTimeout as delay } from 'node:timers/promises';
import type { Message, Producer, ProducerBatch } from 'kafkajs';
import { type ErrorCode, ServiceError } from '#shared/errors.ts';
import type { Logger } from '#shared/telemetry/log.ts';

const IN_FLIGHT_MAX = 2;
const BATCH_MESSAGES_MAX = 1_000;
/** Below the smallest `max.message.bytes` of any topic: the bound that the broker puts on one
 * partition's batch. */
const BATCH_BYTES_MAX = 900_000;
const QUEUED_MAX = 50_000;
export const QUEUED_BYTES_MAX = 96 * 1024 * 1024;
const RESEND_DELAY_MS = 100;
const RECORD_OVERHEAD_BYTES = 100;

/** Why a message was not acknowledged in time. */
export const PUBLISH_FAILURES = [
  'overloaded',
  'publish-unknown',
  'broker-unavailable',
] as const satisfies readonly ErrorCode[];
export type PublishFailure = (typeof PUBLISH_FAILURES)[number];

/** The part of kafkajs that the producer uses. */
type SendBatch = Pick<Producer, 'sendBatch'>;

type Item = {
  readonly topic: string;
  readonly message: Message;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: ServiceError) => void;
  /** The caller has its answer already: the message need not be sent any more. */
  isAbandoned: boolean;
  wasSent: boolean;
};

/**
 * Collects the messages that are published while a request is in flight into the next request
 * (kafkajs has no linger). Urgent messages go before the others, so no backlog delays them.
 *
 * States of an item: queued → in flight → acknowledged, or in flight → (failed) → in flight again.
 * The whole batch is sent again, and kafkajs's own retry is off: kafkajs 2.2.4 retries only with
 * the brokers that have not answered, and after a change of leader it can resolve without having
 * written (tulios/kafkajs #1303). So a message is written at least once, and its consumers must be
 * idempotent. A batch that the broker refuses is halved until the refused message is found; only
 * that message fails.
 */
export class BatchingProducer {
  readonly #producer: SendBatch;
  readonly #log: Logger;
  readonly #onFailure: (code: PublishFailure) => void;
  readonly #urgent: Item[] = [];
  readonly #queue: Item[] = [];
  #queuedBytes = 0;
  #inFlight = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor(producer: SendBatch, log: Logger, onFailure: (code: PublishFailure) => void = () => undefined) {
    this.#producer = producer;
    this.#log = log;
    this.#onFailure = onFailure;
  }

  /** Messages queued or in flight. */
  get pendingCount(): number {
    return this.#queuedCount + this.#inFlight;
  }

  get #queuedCount(): number {
    return this.#urgent.length + this.#queue.length;
  }

  /**
   * Resolves when all in-sync replicas have the message.
   *
   * @throws ServiceError after `timeoutMs`: `broker-unavailable` if the message was surely not
   *   sent, else `publish-unknown`; at once: `overloaded` if the queue is full, `message-too-large`
   *   or `publish-unknown` if the broker refuses this message.
   */
  send(topic: string, message: Message, timeoutMs: number, isUrgent = false): Promise<void> {
    const bytes = sizeOf(message);
    if (this.#queuedCount >= QUEUED_MAX || this.#queuedBytes + bytes > QUEUED_BYTES_MAX) {
      this.#onFailure('overloaded');
      return Promise.reject(new ServiceError('overloaded', 'too many messages are waiting to be published'));
    }
    return new Promise((resolve, reject) => {
      const item: Item = {
        topic,
        message,
        bytes,
        isAbandoned: false,
        wasSent: false,
        resolve: () => {
          clearTimeout(timer);
          resolve();
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const timer = setTimeout(() => this.#giveUp(item), timeoutMs);
      (isUrgent ? this.#urgent : this.#queue).push(item);
      this.#queuedBytes += bytes;
      this.#schedule();
    });
  }

  drain(): Promise<void> {
    if (this.#queuedCount === 0 && this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #giveUp(item: Item): void {
    item.isAbandoned = true;
    const error = item.wasSent
      ? new ServiceError('publish-unknown', 'the broker did not acknowledge the message in time')
      : new ServiceError('broker-unavailable', 'the broker did not take the message in time');
    this.#onFailure(item.wasSent ? 'publish-unknown' : 'broker-unavailable');
    item.reject(error);
  }

  /** In the next event-loop tick, so that all messages of this tick travel in one request. */
  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= IN_FLIGHT_MAX) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#inFlight < IN_FLIGHT_MAX && this.#queuedCount > 0) {
      const batch = this.#take();
      if (batch.length > 0) void this.#sendBatch(batch);
    }
    if (this.#queuedCount === 0 && this.#inFlight === 0)
      for (const resolve of this.#idle.splice(0)) resolve();
  }

  #take(): Item[] {
    const taken: Item[] = [];
    let bytes = 0;
    for (const queue of [this.#urgent, this.#queue]) {
      let count = 0;
      for (const item of queue) {
        const index = taken.length + count;
        if (index > 0 && (index >= BATCH_MESSAGES_MAX || bytes + item.bytes > BATCH_BYTES_MAX)) break;
        count++;
        bytes += item.bytes;
      }
      taken.push(...queue.splice(0, count));
    }
    this.#queuedBytes -= bytes;
    return taken.filter((item) => !item.isAbandoned);
  }

  async #sendBatch(batch: Item[]): Promise<void> {
    this.#inFlight++;
    // The parts of the batch that are still to be sent; the next one is the last element.
    const parts = [batch];
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const items = part.filter((item) => !item.isAbandoned);
      const [first] = items;
      if (first === undefined) continue;
      const error = await this.#sendOnce(items);
      if (error === undefined) continue;
      this.#log.debug({ error: String(error), count: items.length }, 'batch not acknowledged');
      if (!isRefusal(error)) {
        await delay(RESEND_DELAY_MS + Math.random() * RESEND_DELAY_MS);
        parts.push(items);
      } else if (items.length > 1) {
        const middle = items.length >> 1;
        parts.push(items.slice(middle), items.slice(0, middle));
      } else this.#refuse(first, error);
    }
    this.#inFlight--;
    this.#flush();
  }

  /** Sends one request. Returns the error if it was not acknowledged. */
  async #sendOnce(items: readonly Item[]): Promise<unknown> {
    for (const item of items) item.wasSent = true;
    try {
      await this.#producer.sendBatch(requestOf(items));
      for (const item of items) item.resolve();
      return undefined;
    } catch (error) {
      return error ?? new Error('not acknowledged');
    }
  }

  /** A message that is refused alone would be refused on every retry, and block the others. */
  #refuse(item: Item, error: unknown): void {
    const { topic, bytes } = item;
    item.isAbandoned = true;
    this.#log.error({ topic, bytes, error: String(error) }, 'message refused');
    if (TOO_LARGE.has((error as { readonly type?: string }).type ?? '')) {
      item.reject(
        new ServiceError('message-too-large', `the message is larger than the broker allows on ${topic}`),
      );
      return;
    }
    this.#onFailure('publish-unknown');
    item.reject(new ServiceError('publish-unknown', `the broker refused a message to ${topic}`));
  }
}

/** Kafka's error types for a message above its topic's limit. */
const TOO_LARGE: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/**
 * Whether a retry of the same request would fail again: the broker's error is not retriable, or
 * kafkajs could not encode the request. The error does not say which message caused it.
 */
const isRefusal = (error: unknown): boolean =>
  error instanceof TypeError ||
  error instanceof RangeError ||
  (error instanceof Error &&
    error.name === 'KafkaJSProtocolError' &&
    (error as { readonly retriable?: boolean }).retriable === false);

function requestOf(items: readonly Item[]): ProducerBatch {
  const byTopic = new Map<string, Message[]>();
  for (const { topic, message } of items) {
    const messages = byTopic.get(topic);
    if (messages) messages.push(message);
    else byTopic.set(topic, [message]);
  }
  return { acks: -1, topicMessages: [...byTopic].map(([topic, messages]) => ({ topic, messages })) };
}

function sizeOf({ key, value, headers }: Message): number {
  let bytes = RECORD_OVERHEAD_BYTES + lengthOf(key) + lengthOf(value);
  for (const [name, header] of Object.entries(headers ?? {}))
    bytes += name.length + lengthOf(Array.isArray(header) ? header.join('') : header);
  return bytes;
}

const lengthOf = (part: Buffer | string | null | undefined): number => {
  if (part === null || part === undefined) return 0;
  return typeof part === 'string' ? Buffer.byteLength(part) : part.length;
};
