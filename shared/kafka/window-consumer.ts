import type { Consumer as KafkaConsumer, KafkaMessage } from 'kafkajs';
import type { Logger } from '#shared/telemetry/log.ts';
import { within } from '#shared/wait-for.ts';
import { PartitionWindow, type WindowRecord } from './partition-window.ts';

const COMMIT_INTERVAL_MS = 200;
/** The last commit and the farewell to the group. */
const LEAVE_MS_MAX = 3_000;
/** Fetched bytes of a partition that may wait before it is paused. */
const BACKLOG_BYTES_MAX = 1024 * 1024;
/** The longest single timer; a later due time is looked at again then (setTimeout itself ends at 24 days). */
const WAKE_MS_MAX = 60_000;

/** What the window needs of kafkajs's consumer. */
export type WindowSource = Pick<
  KafkaConsumer,
  'connect' | 'subscribe' | 'run' | 'pause' | 'resume' | 'commitOffsets' | 'disconnect' | 'on' | 'events'
>;

export type WindowWork<M> = {
  /** Parses a record on its first look and says when it is due (epoch ms; 0 is now). Never throws. */
  readonly look: (record: KafkaMessage, topic: string) => NonNullable<WindowRecord<M>['parsed']>;
  /** Does the record's work. Resolves true when its offset may be passed, false when it must be left. */
  readonly work: (entry: WindowRecord<M>, topic: string, partition: number) => Promise<boolean>;
  readonly now: () => number;
};

type Options<M> = WindowWork<M> & {
  readonly topics: readonly string[];
  /** Records worked at once in this process, over all partitions. */
  readonly window: number;
  readonly log: Logger;
  readonly fail: (error: unknown) => void;
};

/**
 * A bounded out-of-order window over a kafkajs consumer.
 *
 * Up to `window` records are worked at once, taken from the partitions in turn, so that one long backlog does
 * not starve the others; only the contiguous prefix of finished records is committed. `eachBatch` hands the
 * records over and returns at once: a slow handler neither stops the fetch loop nor costs a heartbeat.
 * With a due time, a partition rests until its head is due and stays in the group meanwhile.
 */
export class WindowConsumer<M> {
  readonly #source: WindowSource;
  readonly #options: Options<M>;
  readonly #backlogMax: number;
  readonly #aheadMax: number;
  #partitions = new Map<string, PartitionWindow<M>>();
  #order: PartitionWindow<M>[] = [];
  #turn = 0;
  #workingCount = 0;
  #stopping = false;
  #joined = false;
  #commitTimer: NodeJS.Timeout | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #committing: Promise<void> | undefined;
  #idle: (() => void)[] = [];

  constructor(source: WindowSource, options: Options<M>) {
    this.#source = source;
    this.#options = options;
    this.#backlogMax = 2 * options.window;
    this.#aheadMax = 4 * options.window;
  }

  get workingCount(): number {
    return this.#workingCount;
  }

  /** Whether the process is a member of its group, as far as it knows. */
  get isJoined(): boolean {
    return this.#joined;
  }

  /** Joins the group; resolves at the first assignment. */
  async start(): Promise<void> {
    const { events } = this.#source;
    const joined = new Promise<void>((resolve) => {
      this.#source.on(events.GROUP_JOIN, ({ payload }) => {
        this.#assign(payload.memberAssignment);
        resolve();
      });
    });
    this.#source.on(events.CRASH, ({ payload }) => {
      this.#joined = false;
      // kafkajs has given up for good: the process would live on and read nothing.
      if (!payload.restart) this.#options.fail(payload.error);
    });
    await this.#source.connect();
    await this.#source.subscribe({ topics: [...this.#options.topics], fromBeginning: true });
    await this.#source.run({
      autoCommit: false,
      eachBatchAutoResolve: true,
      eachBatch: async ({ batch }) => this.#accept(batch),
    });
    this.#commitTimer = setInterval(() => void this.#commit(), COMMIT_INTERVAL_MS);
    await joined;
  }

  /** Takes no more work, waits for what is being worked, commits, leaves: a commit after leaving is silently lost. */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#commitTimer);
    clearTimeout(this.#wakeTimer);
    for (const window of this.#order) this.#flow(window, true);
    if (this.#workingCount > 0)
      await within(drainMs, new Promise<void>((resolve) => this.#idle.push(resolve)));
    // A broker that is away answers neither: then the next owner works on from the last commit.
    await within(LEAVE_MS_MAX, this.#leave());
  }

  async #leave(): Promise<void> {
    await this.#committing;
    await this.#commit();
    await this.#source.disconnect();
  }

  #assign(assignment: Record<string, number[]>): void {
    const kept = new Map<string, PartitionWindow<M>>();
    for (const [topic, partitions] of Object.entries(assignment)) {
      for (const partition of partitions) {
        const place = `${topic}/${partition}`;
        const window = this.#partitions.get(place) ?? new PartitionWindow<M>(topic, partition);
        // Commit anew: a commit sent while the member was out of the group may have been dropped.
        window.committedOffset = -1;
        kept.set(place, window);
        // kafkajs keeps the flag over a rebalance and loses it over a restart.
        this.#flow(window, window.paused);
      }
    }
    this.#partitions = kept;
    this.#order = [...kept.values()];
    this.#joined = true;
    this.#options.log.info({ partitionCount: this.#order.length }, 'joined consumer group');
    this.#pump();
  }

  #accept(batch: {
    topic: string;
    partition: number;
    messages: KafkaMessage[];
    highWatermark: string;
  }): void {
    const window = this.#partitions.get(`${batch.topic}/${batch.partition}`);
    if (!window) return;
    window.accept(batch.messages, Number(batch.highWatermark));
    if (this.#stopping || this.#isFull(window)) this.#flow(window, true);
    this.#pump();
  }

  #isFull(window: PartitionWindow<M>): boolean {
    return window.waitingCount > this.#backlogMax || window.waitingBytes > BACKLOG_BYTES_MAX;
  }

  #flow(window: PartitionWindow<M>, pause: boolean): void {
    window.paused = pause;
    const at = [{ topic: window.topic, partitions: [window.partition] }];
    try {
      if (pause) this.#source.pause(at);
      else this.#source.resume(at);
    } catch {
      // Between a crash and the restart there is nothing to pause; the next assignment sets the flag again.
    }
  }

  /** Starts records until the window is full, a turn of each partition after the other. */
  #pump(): void {
    let earliest = Number.POSITIVE_INFINITY;
    for (let misses = 0; !this.#stopping && this.#workingCount < this.#options.window; ) {
      const window = this.#order[this.#turn++ % this.#order.length];
      if (!window || misses >= this.#order.length) break;
      const dueAt = this.#dueAt(window);
      if (dueAt === undefined || dueAt > 0) {
        if (dueAt) earliest = Math.min(earliest, dueAt);
        misses++;
        continue;
      }
      misses = 0;
      const entry = window.take();
      if (
        window.paused &&
        window.waitingCount <= this.#backlogMax / 2 &&
        window.waitingBytes <= BACKLOG_BYTES_MAX / 2
      )
        this.#flow(window, false);
      if (entry) void this.#run(window, entry);
    }
    this.#wakeAt(earliest);
  }

  /** 0 where the head can be worked now, its due time where it is later, nothing where there is none to work. */
  #dueAt(window: PartitionWindow<M>): number | undefined {
    const { head } = window;
    if (!head || window.aheadCount >= this.#aheadMax) return undefined;
    head.parsed ??= this.#options.look(head.record, window.topic);
    return head.parsed.dueAt > this.#options.now() ? head.parsed.dueAt : 0;
  }

  #wakeAt(dueAt: number): void {
    clearTimeout(this.#wakeTimer);
    if (dueAt === Number.POSITIVE_INFINITY || this.#stopping) return;
    const waitMs = Math.min(Math.max(dueAt - this.#options.now(), 1), WAKE_MS_MAX);
    this.#wakeTimer = setTimeout(() => this.#pump(), waitMs);
  }

  async #run(window: PartitionWindow<M>, first: WindowRecord<M>): Promise<void> {
    this.#workingCount++;
    let entry: WindowRecord<M> | undefined = first;
    while (entry) {
      entry.parsed ??= this.#options.look(entry.record, window.topic);
      const passed: boolean = await this.#options.work(entry, window.topic, window.partition);
      // Left: the prefix ends here, and the records of its key behind it stay too.
      entry = passed ? window.finish(entry) : undefined;
    }
    this.#workingCount--;
    if (this.#workingCount === 0) for (const resolve of this.#idle.splice(0)) resolve();
    this.#pump();
  }

  async #commit(): Promise<void> {
    if (this.#committing) return this.#committing;
    const moved = this.#order
      .map((window) => ({ window, offset: window.commitOffset }))
      .filter(({ window, offset }) => offset >= 0 && offset > window.committedOffset);
    if (moved.length === 0) return;
    const offsets = moved.map(({ window: { topic, partition }, offset }) => ({
      topic,
      partition,
      offset: String(offset),
    }));
    this.#committing = this.#source
      .commitOffsets(offsets)
      .then(
        () => {
          for (const { window, offset } of moved) window.committedOffset = offset;
        },
        // A rebalance or no broker: the next tick commits, or the next owner works the records again.
        () => undefined,
      )
      .finally(() => {
        this.#committing = undefined;
      });
    return this.#committing;
  }
}
