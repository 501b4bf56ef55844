import type { Consumer as KafkaConsumer, KafkaMessage } from 'kafkajs';
import type { Logger } from '#shared/telemetry/log.ts';
import { within } from '#shared/wait-for.ts';
import { assignWindows, catchUp } from './assign-windows.ts';
import { type Committer, makeCommitter } from './committer.ts';
import { makeCondition } from './condition.ts';
import { type ConsumerProgress, progressOf } from './consumer-progress.ts';
import { makeFetchPause } from './fetch-pause.ts';
import { makeNextPump, type NextPump } from './next-pump.ts';
import { bytesOf, detached, type PartitionWindow, type WindowRecord } from './partition-window.ts';
import { type WorkPlace, WorkPlaces } from './work-places.ts';

/** The last commit and the farewell to the group. */
const LEAVE_MS_MAX = 3_000;
/** What runs has this long to end when partitions are shared out anew, and its commit as long: no session is so short. */
const SETTLE_MS_MAX = 1_000;
/** Fetched bytes of a partition that may wait before it is paused. */
const BACKLOG_BYTES_MAX = 1024 * 1024;
/** Records whose work waits, beside those of the window, as parts of it; and their bytes. */
const PARKED_PER_WINDOW = 4;
const PARKED_BYTES_MAX = 16 * 1024 * 1024;
/** How far a partition runs past its oldest unfinished record, as parts of the window: more than can be parked. */
const AHEAD_PER_WINDOW = 8;
/** Records begun before the event loop has its turn: what else the process does is not kept waiting by a backlog. */
const STARTS_PER_TURN = 64;

/** What the window needs of kafkajs's consumer. */
export type WindowSource = Pick<
  KafkaConsumer,
  'connect' | 'subscribe' | 'run' | 'pause' | 'resume' | 'commitOffsets' | 'disconnect' | 'on' | 'events'
>;

export type WindowWork<M> = {
  /** Parses a record on its first look and says when it is due (epoch ms; 0 is now). Never throws. */
  readonly look: (record: KafkaMessage, topic: string) => NonNullable<WindowRecord<M>['parsed']>;
  /** Does the record's work. Resolves true when its offset may be passed, false when it must be left. */
  readonly work: (
    entry: WindowRecord<M>,
    topic: string,
    partition: number,
    park: WorkPlace['park'],
  ) => Promise<boolean>;
  readonly now: () => number;
};

type Options<M> = WindowWork<M> & {
  readonly topics: readonly string[];
  /** Records worked at once in this process, over all partitions; those that are parked come on top. */
  readonly window: number;
  readonly log: Logger;
  readonly fail: (error: unknown) => void;
  readonly onAssignment: () => void;
  readonly onCrash: () => void;
  /** What the group has committed, by `topic/partition`. */
  readonly readCommitted: () => Promise<ReadonlyMap<string, number>>;
};

/**
 * A bounded out-of-order window over a kafkajs consumer.
 *
 * Up to `window` records are worked at once, taken from the partitions in turn, so that one long backlog does
 * not starve the others; only the contiguous prefix of finished records is committed. `eachBatch` hands the
 * records over and returns at once: a slow handler neither stops the fetch loop nor costs a heartbeat.
 * With a due time, a partition rests until its head is due and stays in the group meanwhile.
 *
 * Work that only waits for something outside is parked: it takes none of the places that others run in, and its
 * record is committed when it is done, as any other. How many may be parked is bounded, by count and by bytes.
 */
export class WindowConsumer<M> {
  readonly #source: WindowSource;
  readonly #options: Options<M>;
  readonly #backlogMax: number;
  readonly #aheadMax: number;
  #partitions = new Map<string, PartitionWindow<M>>();
  #order: PartitionWindow<M>[] = [];
  readonly #places: WorkPlaces;
  readonly #fetchPause = makeFetchPause();
  /** Running and parked. */
  readonly #working = new Set<WindowRecord<M>>();
  #turn = 0;
  /** Since the pump last had a turn of its own. */
  #starts = 0;
  #stopping = false;
  #joined = false;
  #rebalancing = false;
  #memberId: string | undefined;
  readonly #committer: Committer;
  readonly #next: NextPump;
  readonly #idle = makeCondition(() => this.#places.runningCount + this.#places.parkedCount === 0);
  readonly #settled = makeCondition(() => this.#places.runningCount === 0);

  constructor(source: WindowSource, options: Options<M>) {
    this.#source = source;
    this.#options = options;
    this.#backlogMax = 2 * options.window;
    this.#aheadMax = AHEAD_PER_WINDOW * options.window;
    this.#next = makeNextPump(() => {
      this.#starts = 0;
      this.#pump();
    }, options.now);
    this.#committer = makeCommitter(source, () => this.#order);
    this.#places = new WorkPlaces({
      runningMax: options.window,
      parkedMax: PARKED_PER_WINDOW * options.window,
      parkedBytesMax: PARKED_BYTES_MAX,
    });
  }

  get workingCount(): number {
    return this.#places.runningCount;
  }

  /** Records whose work waits for something outside of the process. */
  get parkedCount(): number {
    return this.#places.parkedCount;
  }

  get partitionCount(): number {
    return this.#order.length;
  }

  get progress(): ConsumerProgress {
    return progressOf(this.#joined && !this.#rebalancing, this.#working, this.#order);
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
        this.#assign(payload.memberAssignment, payload.memberId);
        resolve();
      });
    });
    this.#source.on(events.CRASH, ({ payload }) => {
      this.#joined = false;
      this.#options.onCrash();
      // kafkajs has given up for good: the process would live on and read nothing.
      if (!payload.restart) this.#options.fail(payload.error);
    });
    this.#source.on(events.FETCH_START, this.#fetchPause.onFetch);
    await this.#source.connect();
    await this.#source.subscribe({ topics: [...this.#options.topics], fromBeginning: true });
    await this.#source.run({
      autoCommit: false,
      eachBatchAutoResolve: true,
      eachBatch: async ({ batch }) => {
        this.#accept(batch);
        await this.#fetchPause.rest(this.#places.runningCount);
      },
    });
    this.#committer.start();
    await joined;
  }

  /**
   * Takes no more work, waits for what is being worked, commits, leaves: a commit after leaving is silently lost.
   * What is parked is left at once.
   */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    this.#next.cancel();
    for (const window of this.#order) this.#flow(window, true);
    this.#places.leaveAll();
    await within(drainMs, this.#idle.wait());
    this.#committer.stop();
    // A broker that is away answers neither: then the next owner works on from the last commit.
    const leave = this.#committer.commitAll().then(() => this.#source.disconnect());
    await within(LEAVE_MS_MAX, leave);
  }

  /**
   * Begins nothing more, ends what runs, 1 s at most, and commits it: after the join it may be somebody else's, and would
   * be done twice. What is parked stays.
   */
  async settle(): Promise<void> {
    this.#rebalancing = true;
    await within(SETTLE_MS_MAX, this.#settled.wait());
    await within(SETTLE_MS_MAX, this.#committer.commitAll());
  }

  #assign(assignment: Record<string, number[]>, memberId: string): void {
    const wasOut = this.#memberId !== undefined && memberId !== this.#memberId;
    this.#memberId = memberId;
    this.#partitions = assignWindows(assignment, this.#partitions, wasOut);
    this.#order = [...this.#partitions.values()];
    // kafkajs keeps the flag over a rebalance and loses it over a restart.
    for (const window of this.#order) this.#flow(window, window.paused);
    this.#joined = true;
    this.#rebalancing = wasOut;
    if (wasOut) void this.#catchUp(this.#partitions);
    this.#options.onAssignment();
    this.#options.log.info({ partitionCount: this.#order.length }, 'joined consumer group');
    this.#pump();
  }

  async #catchUp(windows: ReadonlyMap<string, PartitionWindow<M>>): Promise<void> {
    await catchUp(windows, this.#options.readCommitted);
    if (this.#partitions !== windows) return;
    this.#rebalancing = false;
    for (const window of this.#order) this.#flowIfLow(window);
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
    const isFull = window.waitingCount > this.#backlogMax || window.waitingBytes > BACKLOG_BYTES_MAX;
    if (this.#stopping || isFull) this.#flow(window, true);
    this.#pump();
  }

  #flowIfLow(window: PartitionWindow<M>): void {
    const isLow = window.waitingCount <= this.#backlogMax / 2 && window.waitingBytes <= BACKLOG_BYTES_MAX / 2;
    if (window.paused && isLow) this.#flow(window, false);
  }

  #flow(window: PartitionWindow<M>, pause: boolean): void {
    window.paused = pause;
    const at = [{ topic: window.topic, partitions: [window.partition] }];
    try {
      this.#source[pause ? 'pause' : 'resume'](at);
    } catch {
      // Between a crash and the restart there is nothing to pause; the next assignment sets the flag again.
    }
  }

  /** Starts records until the window is full, a turn of each partition after the other. */
  #pump(): void {
    if (this.#starts >= STARTS_PER_TURN) return;
    let earliest = Number.POSITIVE_INFINITY;
    for (let misses = 0; !this.#stopping && !this.#rebalancing && !this.#places.isFull; ) {
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
      this.#flowIfLow(window);
      if (entry) void this.#run(window, entry);
      if (++this.#starts < STARTS_PER_TURN) continue;
      this.#next.soon();
      break;
    }
    if (!this.#stopping) this.#next.at(earliest);
  }

  /** 0 where the head can be worked now, its due time where it is later, nothing where there is none to work. */
  #dueAt(window: PartitionWindow<M>): number | undefined {
    const { head } = window;
    if (!head || window.aheadCount >= this.#aheadMax || !this.#places.mayRun(window.places)) return undefined;
    head.parsed ??= this.#options.look(head.record, window.topic);
    return head.parsed.dueAt > this.#options.now() ? head.parsed.dueAt : 0;
  }

  async #run(window: PartitionWindow<M>, first: WindowRecord<M>): Promise<void> {
    let entry: WindowRecord<M> | undefined = first;
    while (entry) {
      entry.parsed ??= this.#options.look(entry.record, window.topic);
      entry.aliveAtMs = performance.now();
      this.#working.add(entry);
      const passed = await this.#work(window, entry);
      this.#working.delete(entry);
      // Left: the prefix ends here, and the records of its key behind it stay too.
      entry = passed ? window.finish(entry) : undefined;
    }
    this.#settled.look();
    this.#idle.look();
    this.#pump();
  }

  async #work(window: PartitionWindow<M>, entry: WindowRecord<M>): Promise<boolean> {
    entry.record = detached(entry.record);
    const place = this.#places.enter(window.places, bytesOf(entry.record));
    const park = (leave: () => void): boolean => {
      const isParked = !this.#stopping && place.park(leave);
      // Not at once: work that begins by waiting would be begun inside of the work before it, as deep as the backlog is long.
      if (isParked) this.#next.soon();
      return isParked;
    };
    const passed = await this.#options.work(entry, window.topic, window.partition, park);
    place.end();
    return passed;
  }
}
