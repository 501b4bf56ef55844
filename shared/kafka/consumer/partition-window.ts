import type { KafkaMessage } from 'kafkajs';
import { type Owner, ownerName } from '#shared/fairness/fair-shares.ts';

/** A record that was fetched and is not finished. */
export type WindowRecord<M> = {
  readonly offset: number;
  /** Empty once it is finished. */
  record: KafkaMessage;
  readonly key: string;
  isFinished: boolean;
  /** Whose share of the slots it takes; set by the first look at it. */
  owner?: Owner;
  /** When it started, or last reported that it still waits for a dependency; ms of the monotonic
   * clock. */
  aliveAtMs?: number;
  /** Set by the first parse: the message or why it cannot be read, and when it is due (epoch ms; 0
   * is now). */
  parsed?: {
    readonly message: M | undefined;
    readonly error: unknown;
    readonly dueAtMs: number;
    readonly isErasure?: boolean;
  };
};

/** Replaces a finished record: it may stay behind a parked one for long, and must cost no memory
 * there. */
const EMPTY_RECORD: KafkaMessage = {
  key: null,
  value: null,
  headers: {},
  timestamp: '0',
  attributes: 0,
  offset: '0',
};

/**
 * The unfinished records of one partition, processed out of order and committed in order.
 *
 *   accepted ──► waiting ──► running ──► finished
 *                   └► deferred ──┘  (while another record of its key runs)
 *
 * `commitOffset` is the offset below which all records are finished. It never passes an unfinished
 * record, so a crash repeats records and never loses one. Records of one key run one after another,
 * in offset order.
 */
export class PartitionWindow<M> {
  readonly topic: string;
  readonly partition: number;
  /** Accepted and not below `commitOffset` yet, in offset order. */
  #unfinished: WindowRecord<M>[] = [];
  #waiting: WindowRecord<M>[] = [];
  #waitingBytes = 0;
  /** By key of a running record: the records deferred behind it. */
  readonly #deferredByKey = new Map<string, WindowRecord<M>[]>();
  #deferredBytes = 0;
  #nextOffset = -1;
  /** The group's committed offset, -1 while there is none; `undefined` until a member has read it
   * after a time outside of the group. */
  committedOffset: number | undefined = -1;
  isPaused = false;
  readonly #left = new AbortController();
  /** By which the waits of its parked records are ended. */
  readonly #leaves = new Map<WindowRecord<M>, () => void>();

  constructor(topic: string, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  /** Aborted when its records are left to the partition's next owner. */
  get signal(): AbortSignal {
    return this.#left.signal;
  }

  /** Leaves the running records to the partition's next owner: the waits of parked ones end. */
  leave(): void {
    this.#left.abort();
    for (const leave of this.#leaves.values()) leave();
  }

  /**
   * Ends the wait of a record when the partition is left, or now if it is already.
   *
   * @param leave replaces that of an earlier call; none: the record waits no longer
   */
  onLeave(entry: WindowRecord<M>, leave?: () => void): void {
    if (leave === undefined) this.#leaves.delete(entry);
    else if (this.signal.aborted) leave();
    else this.#leaves.set(entry, leave);
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Of the records that do not run yet, deferred ones included. */
  get waitingBytes(): number {
    return this.#waitingBytes + this.#deferredBytes;
  }

  /** Records started behind the oldest unfinished one: the bound on repeats after a crash. */
  get aheadCount(): number {
    return this.#unfinished.length - this.#waiting.length;
  }

  /** The offset to commit (the next one to read), or -1 while none is known. */
  get commitOffset(): number {
    return this.#unfinished[0]?.offset ?? this.#nextOffset;
  }

  get hasNewCommit(): boolean {
    return this.committedOffset !== undefined && this.commitOffset > this.committedOffset;
  }

  /** The offset behind the last fetched record, or -1 before the first. */
  get fetchedOffset(): number {
    return this.#nextOffset;
  }

  get head(): WindowRecord<M> | undefined {
    return this.#waiting[0];
  }

  /**
   * The first waiting record whose owner has room: one whose owner has none does not hold up those
   * of other owners behind it. The records of one owner keep their order, and so do those of one
   * key.
   *
   * @param mayLook whether to look at one more record behind one without room
   */
  next(
    ownerOf: (entry: WindowRecord<M>) => Owner,
    hasRoom: (owner: Owner, entry: WindowRecord<M>) => boolean,
    mayLook: () => boolean,
  ): WindowRecord<M> | undefined {
    const passed = new Set<string>();
    for (const entry of this.#waiting) {
      if (passed.size > 0 && !mayLook()) return undefined;
      const owner = ownerOf(entry);
      const name = ownerName(owner);
      if (!passed.has(name) && !passed.has(entry.key) && hasRoom(owner, entry)) return entry;
      passed.add(name).add(entry.key);
      // It is parsed again when it starts: until then it must cost no more than its bytes.
      delete entry.parsed;
    }
    return undefined;
  }

  /** Takes fetched records; skips those that were accepted before and are fetched again after a
   * rebalance. */
  accept(messages: readonly KafkaMessage[], highWatermark: number): void {
    const first = Number(messages[0]?.offset ?? Number.POSITIVE_INFINITY);
    // The topic was created again: offsets begin at zero. A new leader may know less of the end for a
    // moment: what is fetched then goes on from here.
    if (highWatermark < this.#nextOffset && first <= this.commitOffset) this.#reset();
    for (const fetched of messages) {
      const offset = Number(fetched.offset);
      if (offset < this.#nextOffset) continue;
      this.#nextOffset = offset + 1;
      const record = copyRecord(fetched);
      const entry = { offset, record, key: record.key?.toString() ?? '', isFinished: false };
      this.#unfinished.push(entry);
      this.#waiting.push(entry);
      this.#waitingBytes += bytesOf(record);
    }
  }

  /** Drops the waiting records below an offset: another owner has finished them. */
  skipTo(offset: number): void {
    for (const entry of this.#waiting) {
      if (entry.offset >= offset) break;
      entry.isFinished = true;
      this.#waitingBytes -= bytesOf(entry.record);
    }
    this.#waiting = this.#waiting.filter(({ isFinished }) => !isFinished);
    this.#dropFinished();
    this.#nextOffset = Math.max(this.#nextOffset, offset);
  }

  /**
   * Takes a waiting record, to run it; nothing if its key is running: it is then deferred.
   *
   * @param entry default: the first
   */
  take(entry = this.head): WindowRecord<M> | undefined {
    if (!entry) return undefined;
    if (entry === this.head) this.#waiting.shift();
    else this.#waiting.splice(this.#waiting.indexOf(entry), 1);
    this.#waitingBytes -= bytesOf(entry.record);
    const deferred = this.#deferredByKey.get(entry.key);
    if (deferred && entry.key !== '') {
      deferred.push(entry);
      this.#deferredBytes += bytesOf(entry.record);
      return undefined;
    }
    this.#deferredByKey.set(entry.key, []);
    return entry;
  }

  /** Marks a record finished; returns the deferred record of the same key that may run now, if
   * there is one. */
  finish(entry: WindowRecord<M>): WindowRecord<M> | undefined {
    entry.isFinished = true;
    entry.record = EMPTY_RECORD;
    delete entry.parsed;
    this.#dropFinished();
    const next = this.#deferredByKey.get(entry.key)?.shift();
    if (next) this.#deferredBytes -= bytesOf(next.record);
    else this.#deferredByKey.delete(entry.key);
    return next;
  }

  #dropFinished(): void {
    let count = 0;
    while (this.#unfinished[count]?.isFinished) count++;
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

/** Copies a record: as fetched it is a view of the whole response of up to 10 MiB, and would keep
 * all of it in memory while it waits. */
function copyRecord(record: KafkaMessage): KafkaMessage {
  const copy = { ...record, key: copyBytes(record.key), value: copyBytes(record.value) };
  for (const [name, value] of Object.entries(copy.headers ?? {}))
    if (Buffer.isBuffer(value)) copy.headers = { ...copy.headers, [name]: copyBytes(value) };
  return copy;
}

const copyBytes = <B extends Buffer | null>(bytes: B): B => (bytes && Buffer.from(bytes)) as B;
