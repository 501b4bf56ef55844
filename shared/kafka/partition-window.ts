import type { KafkaMessage } from 'kafkajs';
import type { PlacesTaken } from './work-places.ts';

/** A record that was fetched and is not finished. */
export type WindowRecord<M> = {
  readonly offset: number;
  /** As it was fetched, in memory of its own from when it is worked; nothing once it is done. */
  record: KafkaMessage;
  readonly key: string;
  done: boolean;
  /** When its work began, or was last seen to wait for something that is away; ms of a clock that never goes back. */
  aliveAtMs?: number;
  /** Set when the record is looked at for the first time: its parsed message, and when it is due. */
  parsed?: { readonly message: M | undefined; readonly error: unknown; readonly dueAt: number };
};

/** What is left of a record that is done: it may stand behind a parked one for long, and must cost no memory there. */
const NOTHING: KafkaMessage = {
  key: null,
  value: null,
  headers: {},
  timestamp: '0',
  attributes: 0,
  offset: '0',
};

/**
 * The unfinished records of one partition, worked out of order and committed in order.
 *
 * A record is *waiting* → *working* → *done*. `commitOffset` is the offset below which all is done; it never
 * passes an unfinished record, so a crash repeats work and never loses any. Records of one key are worked one
 * after another in offset order: a record whose key is being worked stays *deferred* until that one is done.
 */
export class PartitionWindow<M> {
  readonly topic: string;
  readonly partition: number;
  /** Accepted and not yet below `commitOffset`, in offset order. */
  #unfinished: WindowRecord<M>[] = [];
  #waiting: WindowRecord<M>[] = [];
  #waitingBytes = 0;
  readonly #busyKeys = new Map<string, WindowRecord<M>[]>();
  #nextOffset = -1;
  #workingCount = 0;
  committedOffset = -1;
  paused = false;
  /** Of the places that the partitions share. */
  readonly places: PlacesTaken = { runningCount: 0, parkedCount: 0 };

  constructor(topic: string, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** How far work has run past the oldest unfinished record: the bound on repeats after a crash. */
  get aheadCount(): number {
    return this.#unfinished.length - this.#waiting.length;
  }

  get isEmpty(): boolean {
    return this.#workingCount === 0;
  }

  /** The offset to commit (the next one to read), or -1 while none is known. */
  get commitOffset(): number {
    return this.#unfinished[0]?.offset ?? this.#nextOffset;
  }

  /** The offset behind the last record that was fetched, or -1 before the first. */
  get fetchedOffset(): number {
    return this.#nextOffset;
  }

  /** The oldest record that waits. */
  get head(): WindowRecord<M> | undefined {
    return this.#waiting[0];
  }

  /** Takes fetched records; those that were accepted before (fetched again after a rebalance) are passed over. */
  accept(messages: readonly KafkaMessage[], highWatermark: number): void {
    // The topic was made anew: offsets begin from zero again.
    if (highWatermark < this.#nextOffset) this.#reset();
    for (const record of messages) {
      const offset = Number(record.offset);
      if (offset < this.#nextOffset) continue;
      this.#nextOffset = offset + 1;
      const entry = { offset, record, key: record.key?.toString() ?? '', done: false };
      this.#unfinished.push(entry);
      this.#waiting.push(entry);
      this.#waitingBytes += bytesOf(record);
    }
  }

  /** What is below an offset is done, by another owner: it is not worked here any more. */
  passTo(offset: number): void {
    for (const entry of this.#waiting) {
      if (entry.offset >= offset) break;
      entry.done = true;
      this.#waitingBytes -= bytesOf(entry.record);
    }
    this.#waiting = this.#waiting.filter(({ done }) => !done);
    this.#dropDone();
    this.#nextOffset = Math.max(this.#nextOffset, offset);
  }

  /** The next record to work, or nothing where its key is being worked: it is then deferred behind that one. */
  take(): WindowRecord<M> | undefined {
    const entry = this.#waiting.shift();
    if (!entry) return undefined;
    this.#waitingBytes -= bytesOf(entry.record);
    const deferred = this.#busyKeys.get(entry.key);
    if (deferred && entry.key !== '') {
      deferred.push(entry);
      return undefined;
    }
    this.#busyKeys.set(entry.key, []);
    this.#workingCount++;
    return entry;
  }

  /** Marks a record done; returns the record of the same key that may be worked now, if one is deferred. */
  finish(entry: WindowRecord<M>): WindowRecord<M> | undefined {
    entry.done = true;
    entry.record = NOTHING;
    delete entry.parsed;
    this.#dropDone();
    const next = this.#busyKeys.get(entry.key)?.shift();
    if (next) return next;
    this.#busyKeys.delete(entry.key);
    this.#workingCount--;
    return undefined;
  }

  #dropDone(): void {
    let count = 0;
    while (this.#unfinished[count]?.done) count++;
    if (count > 0) this.#unfinished.splice(0, count);
  }

  #reset(): void {
    this.#unfinished = [];
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#nextOffset = -1;
    this.committedOffset = -1;
  }
}

export const bytesOf = (record: KafkaMessage): number => record.value?.length ?? 0;

/** The record in memory of its own: as it was fetched it is a view of all that came with it, which it would keep. */
export function detached(record: KafkaMessage): KafkaMessage {
  const copy = { ...record, key: copyOf(record.key), value: copyOf(record.value) };
  for (const [name, value] of Object.entries(copy.headers ?? {}))
    if (Buffer.isBuffer(value)) copy.headers = { ...copy.headers, [name]: copyOf(value) };
  return copy;
}

const copyOf = <B extends Buffer | null>(bytes: B): B => (bytes && Buffer.from(bytes)) as B;
