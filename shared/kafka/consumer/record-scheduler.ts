import type { KafkaMessage } from 'kafkajs';
import type { Owner } from '../../fairness/fair-shares.ts';
import { TickShare } from '../../tick-share.ts';
import { bytesOf, copyRecord, type PartitionWindow, type WindowRecord } from './partition-window.ts';
import { type WorkSlot, WorkSlots } from './work-slots.ts';

/** Parked records, as a multiple of the window; and their bytes. */
const PARKED_PER_WINDOW = 4;
export const PARKED_BYTES_MAX = 16 * 1024 * 1024;
/** Bytes of running records: while a store is away, every one is kept. */
export const RUNNING_BYTES_MAX = 32 * 1024 * 1024;
/** How far a partition may run past its oldest unfinished record, as a multiple of the window: more
 * than can be parked. */
const AHEAD_PER_WINDOW = 8;
/** How long records may be started in one tick of the event loop: those of a backlog hold up the
 * rest of the process, also the records of other groups. */
const STARTING_MS_PER_TICK = 4;
/** The longest single timer: a later due time is checked again then. setTimeout itself ends at 24
 * days. */
const WAKE_MS_MAX = 60_000;

export type WindowWork<M> = {
  /** Parses a record and says when it is due (epoch ms; 0 is now). Never throws. */
  readonly parse: (record: KafkaMessage, topic: string) => NonNullable<WindowRecord<M>['parsed']>;
  /** Processes a record. Resolves true when its offset may be committed, false when it is left to
   * the next owner. */
  readonly process: (
    entry: WindowRecord<M>,
    topic: string,
    partition: number,
    park: WorkSlot['park'],
  ) => Promise<boolean>;
  /** Whose share of the slots a record takes. Default: its partition's. */
  readonly ownerOf?: ((message: M) => Owner) | undefined;
  /** The clock of due times, epoch ms. */
  readonly now: () => number;
};

type Options<M> = WindowWork<M> & {
  /** Records that run at once, over all partitions; parked records are in addition to these. */
  readonly window: number;
  /** Whether records may start now. */
  readonly mayStart: () => boolean;
  /** Called when a record has left the backlog of its partition. */
  readonly onTaken: (window: PartitionWindow<M>) => void;
};

/**
 * Starts the records of all partitions: round-robin, when they are due, within the slots.
 *
 * A record that only waits for something outside of the process is parked: it takes no running
 * slot. The number and the bytes of parked records are bounded.
 */
export class RecordScheduler<M> {
  readonly #options: Options<M>;
  readonly #aheadMax: number;
  readonly #slots: WorkSlots;
  #windows: readonly PartitionWindow<M>[] = [];
  #nextIndex = 0;
  /** Running and parked. */
  readonly #inProgress = new Set<WindowRecord<M>>();
  readonly #tickShare = new TickShare(STARTING_MS_PER_TICK);
  #nextTick: NodeJS.Immediate | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #drainWaiters: { readonly isDrained: () => boolean; readonly resolve: () => void }[] = [];

  constructor(options: Options<M>) {
    this.#options = options;
    this.#aheadMax = AHEAD_PER_WINDOW * options.window;
    this.#slots = new WorkSlots(
      { countMax: options.window, bytesMax: RUNNING_BYTES_MAX },
      { countMax: PARKED_PER_WINDOW * options.window, bytesMax: PARKED_BYTES_MAX },
    );
  }

  get runningCount(): number {
    return this.#slots.runningCount;
  }

  get parkedCount(): number {
    return this.#slots.parkedCount;
  }

  /** The longest time since a record in progress started or last reported to be alive; 0 without
   * one. */
  get silentMs(): number {
    const nowMs = performance.now();
    let silentMs = 0;
    for (const { aliveAtMs = nowMs } of this.#inProgress) silentMs = Math.max(silentMs, nowMs - aliveAtMs);
    return silentMs;
  }

  /** Replaces the partitions that records are taken from. Records in progress continue. */
  assign(windows: readonly PartitionWindow<M>[]): void {
    this.#windows = windows;
  }

  /** Starts no more records, and ends the waits of parked ones. */
  stop(): void {
    this.#isStopped = true;
    clearImmediate(this.#nextTick);
    clearTimeout(this.#wakeTimer);
    this.#slots.leaveParked();
  }

  /** Resolves when no record runs; parked ones may. */
  whenNoneRuns(): Promise<void> {
    return this.#drained(() => this.runningCount === 0);
  }

  /** Resolves when no record runs or is parked. */
  whenIdle(): Promise<void> {
    return this.#drained(() => this.runningCount + this.parkedCount === 0);
  }

  /** Starts records, one of each partition in turn, until the slots are full, nothing is due, or
   * the tick's share is used. */
  startRecords(): void {
    let earliestDueAtMs = Number.POSITIVE_INFINITY;
    let misses = 0;
    while (this.#mayStart && !this.#slots.isFull && misses < this.#windows.length) {
      if (!this.#tickShare.hasTime()) {
        this.#startRecordsNextTick();
        break;
      }
      const window = this.#windows[this.#nextIndex++ % this.#windows.length] as PartitionWindow<M>;
      const dueAtMs = this.#headDueAtMs(window);
      if (dueAtMs === 0) {
        misses = 0;
        this.#startHead(window);
      } else {
        misses++;
        earliestDueAtMs = Math.min(earliestDueAtMs, dueAtMs);
      }
    }
    this.#wakeAt(earliestDueAtMs);
  }

  get #mayStart(): boolean {
    return !this.#isStopped && this.#options.mayStart();
  }

  #startRecordsNextTick(): void {
    if (this.#isStopped) return;
    this.#nextTick ??= setImmediate(() => {
      this.#nextTick = undefined;
      this.startRecords();
    });
  }

  #wakeAt(dueAtMs: number): void {
    clearTimeout(this.#wakeTimer);
    if (this.#isStopped || dueAtMs === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.min(Math.max(dueAtMs - this.#options.now(), 1), WAKE_MS_MAX);
    this.#wakeTimer = setTimeout(() => this.startRecords(), waitMs);
  }

  /** 0 if the head can start now, its due time if that is later, infinity if the partition has none
   * to start. */
  #headDueAtMs(window: PartitionWindow<M>): number {
    const { head } = window;
    if (!head || window.aheadCount >= this.#aheadMax) return Number.POSITIVE_INFINITY;
    head.parsed ??= this.#options.parse(head.record, window.topic);
    if (!this.#slots.mayRun(this.#ownerOf(window, head), bytesOf(head.record)))
      return Number.POSITIVE_INFINITY;
    return head.parsed.dueAtMs > this.#options.now() ? head.parsed.dueAtMs : 0;
  }

  #ownerOf({ topic, partition }: PartitionWindow<M>, { parsed }: WindowRecord<M>): Owner {
    const message = parsed?.message;
    const owner = message === undefined ? undefined : this.#options.ownerOf?.(message);
    return owner ?? `${topic}/${partition}`;
  }

  #startHead(window: PartitionWindow<M>): void {
    const entry = window.take();
    this.#options.onTaken(window);
    if (entry) void this.#run(window, entry);
  }

  /** Runs a record and then, one by one, the records of its key that were deferred behind it. */
  async #run(window: PartitionWindow<M>, first: WindowRecord<M>): Promise<void> {
    let entry: WindowRecord<M> | undefined = first;
    while (entry) {
      entry.parsed ??= this.#options.parse(entry.record, window.topic);
      entry.aliveAtMs = performance.now();
      this.#inProgress.add(entry);
      const isFinished = await this.#process(window, entry);
      this.#inProgress.delete(entry);
      // A record that is left ends the prefix; the records of its key behind it are left too.
      entry = isFinished ? window.finish(entry) : undefined;
      if (entry) this.#options.onTaken(window);
    }
    this.#resolveDrained();
    this.startRecords();
  }

  async #process(window: PartitionWindow<M>, entry: WindowRecord<M>): Promise<boolean> {
    entry.record = copyRecord(entry.record);
    const slot = this.#slots.acquire(this.#ownerOf(window, entry), bytesOf(entry.record));
    const park = (leave: () => void): boolean => {
      const isParked = !this.#isStopped && slot.park(leave);
      // In a later tick: starting the next record here would nest the calls as deep as the backlog
      // is long.
      if (isParked) this.#startRecordsNextTick();
      return isParked;
    };
    const isFinished = await this.#options.process(entry, window.topic, window.partition, park);
    slot.release();
    return isFinished;
  }

  #drained(isDrained: () => boolean): Promise<void> {
    if (isDrained()) return Promise.resolve();
    return new Promise((resolve) => this.#drainWaiters.push({ isDrained, resolve }));
  }

  #resolveDrained(): void {
    for (const { isDrained, resolve } of this.#drainWaiters) if (isDrained()) resolve();
    this.#drainWaiters = this.#drainWaiters.filter(({ isDrained }) => !isDrained());
  }
}
