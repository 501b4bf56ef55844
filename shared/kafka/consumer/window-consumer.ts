import type { Consumer as KafkaConsumer, KafkaMessage } from 'kafkajs';
import type { Logger } from '#shared/telemetry/log.ts';
import { within } from '#shared/wait-for.ts';
import type { Owner } from '../../fairness/fair-shares.ts';
import { TickShare } from '../../tick-share.ts';
import type { ConsumerProgress } from './check-progress.ts';
import {
  adoptCommitted,
  assignWindows,
  type BeforeCommit,
  type Committer,
  makeCommitter,
  readCommittedWithin,
} from './commit-offsets.ts';
import { bytesOf, type PartitionWindow, type WindowRecord } from './partition-window.ts';
import type { RecordContext } from './record.ts';
import { WorkSlots } from './work-slots.ts';

/** How long a stop waits for the last commit and for leaving the group. */
const LEAVE_MS_MAX = 3_000;
/** How long a rebalance waits for running records, and then for their commit. Well below any
 * session timeout. */
const SETTLE_MS_MAX = 1_000;
/** Fetched bytes that may wait: each partition has its part, and is paused beyond it. In its part a
 * record is found that waits behind those of an owner without room. */
export const BACKLOG_BYTES = { all: 24 * 1024 * 1024, ofPartitionMin: 1024 * 1024 } as const;

/** Parked records, as a multiple of the window; and their bytes. */
const PARKED_PER_WINDOW = 4;
export const PARKED_BYTES_MAX = 16 * 1024 * 1024;
/** Bytes of running records: while a store is away, every one is kept. */
export const RUNNING_BYTES_MAX = 32 * 1024 * 1024;
/** How far a partition may run past its oldest unfinished record, as a multiple of the window: more
 * than can be parked. */
const AHEAD_PER_WINDOW = 8;
/** How far behind a record without room one with room is looked for. */
const LOOKS_MAX = 256;
/** How long records may be started in one tick of the event loop: those of a backlog hold up the
 * rest of the process, also the records of other groups. */
const STARTING_MS_PER_TICK = 4;
/** The longest single timer: a later due time is checked again then. setTimeout itself ends at 24
 * days. */
const WAKE_MS_MAX = 60_000;

export type WindowSource = Pick<
  KafkaConsumer,
  'connect' | 'subscribe' | 'run' | 'pause' | 'resume' | 'commitOffsets' | 'disconnect' | 'on' | 'events'
>;

/**
 * The states of a consumer, from the process's point of view.
 *
 * ```
 *             join, same member          rebalance
 *   joining ───────────────────► consuming ───────► settling
 *    ▲  │                          ▲    ▲              │ │
 *    │  │ join, new member         │    └──────────────┘ │ join, new member
 *    │  └────────► catching-up ────┘ committed           │
 *    │                 ▲             offsets read        │
 *    │                 └─────────────────────────────────┘
 *    └── crash, from any state but stopping      stop: any state ──► stopping
 * ```
 *
 * | state | member of the group | starts records | commits |
 * | --- | --- | --- | --- |
 * | `joining` | no | no | no: kafkajs drops it |
 * | `catching-up` | yes, after a time outside | no | no: others may have committed further |
 * | `consuming` | yes | yes | every 200 ms |
 * | `settling` | until it joins again | no | once, when the running records have ended |
 * | `stopping` | until it leaves | no | once, before it leaves |
 *
 * Running records continue in every state.
 */
type ConsumerState = 'joining' | 'catching-up' | 'consuming' | 'settling' | 'stopping';

export type WindowOptions<M> = {
  /** Parses a record and says when it is due (epoch ms; 0 is now). Never throws. */
  readonly parse: (record: KafkaMessage, topic: string) => NonNullable<WindowRecord<M>['parsed']>;
  /** Processes a record. Resolves true when its offset may be committed, false when it is left to
   * the next owner. */
  readonly process: (
    entry: WindowRecord<M>,
    place: Pick<PartitionWindow<M>, 'topic' | 'partition' | 'signal'>,
    park: RecordContext['park'],
  ) => Promise<boolean>;
  /** Whose share of the slots a record takes. Default: its partition's. */
  readonly ownerOf?: ((message: M) => Owner) | undefined;
  /** The clock of due times, epoch ms. */
  readonly now: () => number;
  readonly topics: readonly string[];
  /** Records that run at once in this process, over all partitions; parked records are in addition
   * to these. */
  readonly window: number;
  readonly log: Logger;
  readonly fail: (error: unknown) => void;
  readonly onAssignment: () => void;
  readonly onCrash: () => void;
  readonly beforeCommit?: BeforeCommit | undefined;
  /** The group's committed offsets, by `topic/partition`. */
  readonly readCommitted: () => Promise<ReadonlyMap<string, number>>;
};

/**
 * A bounded out-of-order window over a kafkajs consumer, whose states are above.
 *
 * Up to `window` records run at once, taken from the partitions round-robin, so that one long
 * backlog does not starve the others; only the contiguous prefix of finished records is committed.
 * `eachBatch` hands the records over and returns at once: a slow handler neither stops the fetch
 * loop nor delays a heartbeat. A partition whose head is not due yet waits until it is, and its
 * member stays in the group meanwhile.
 *
 * A record that only waits for something outside of the process is parked: it takes no running
 * slot, and is committed when it is finished, as any other. The number and the bytes of parked
 * records are bounded.
 */
export class WindowConsumer<M> {
  readonly #source: WindowSource;
  readonly #options: WindowOptions<M>;
  readonly #backlogMax: number;
  readonly #committer: Committer;
  readonly #aheadMax: number;
  readonly #slots: WorkSlots;
  #state: ConsumerState = 'joining';
  #memberId: string | undefined;
  #windows = new Map<string, PartitionWindow<M>>();
  #order: PartitionWindow<M>[] = [];
  #nextIndex = 0;
  /** Running and parked. */
  readonly #inProgress = new Set<WindowRecord<M>>();
  readonly #tickShare = new TickShare(STARTING_MS_PER_TICK);
  #nextTick: NodeJS.Immediate | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #drainWaiters: { readonly isDrained: () => boolean; readonly resolve: () => void }[] = [];

  constructor(source: WindowSource, options: WindowOptions<M>) {
    this.#source = source;
    this.#options = options;
    this.#backlogMax = 2 * options.window;
    this.#committer = makeCommitter(source, () => this.#order, options.beforeCommit);
    this.#aheadMax = AHEAD_PER_WINDOW * options.window;
    this.#slots = new WorkSlots(
      { countMax: options.window, bytesMax: RUNNING_BYTES_MAX },
      { countMax: PARKED_PER_WINDOW * options.window, bytesMax: PARKED_BYTES_MAX },
    );
  }

  get state(): ConsumerState {
    return this.#state;
  }

  get runningCount(): number {
    return this.#slots.runningCount;
  }

  get parkedCount(): number {
    return this.#slots.parkedCount;
  }

  get partitionCount(): number {
    return this.#order.length;
  }

  /** The partitions of a topic that are assigned to this member. */
  partitionsOf(topic: string | undefined): number[] {
    return this.#order.filter((window) => window.topic === topic).map(({ partition }) => partition);
  }

  /** Whether the process is a member of its group, as far as it knows. */
  get isJoined(): boolean {
    return this.#state !== 'joining';
  }

  get progress(): ConsumerProgress {
    const isConsuming = this.#state === 'consuming';
    // In any other state fetched records are not started: only commits count there.
    const fetching = isConsuming ? this.#order.filter(({ isPaused }) => !isPaused) : [];
    return { isConsuming, silentMs: this.#silentMs, fetching };
  }

  /** The longest time since a record in progress started or last reported to be alive; 0 without
   * one. */
  get #silentMs(): number {
    const nowMs = performance.now();
    let silentMs = 0;
    for (const { aliveAtMs = nowMs } of this.#inProgress) silentMs = Math.max(silentMs, nowMs - aliveAtMs);
    return silentMs;
  }

  /** Of one partition. */
  get #backlogBytesMax(): number {
    return Math.max(BACKLOG_BYTES.all / this.#order.length, BACKLOG_BYTES.ofPartitionMin);
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
      this.#enter('joining');
      this.#options.onCrash();
      // kafkajs will not restart the consumer, so the process would run without reading records.
      if (!payload.restart && this.#state !== 'stopping') this.#options.fail(payload.error);
    });
    await this.#source.connect();
    await this.#source.subscribe({ topics: [...this.#options.topics], fromBeginning: true });
    await this.#source.run({
      autoCommit: false,
      eachBatchAutoResolve: true,
      eachBatch: async ({ batch }) => this.#accept(batch),
    });
    this.#committer.start();
    await joined;
  }

  /**
   * Starts no more records, waits for the running ones, commits, leaves: a commit after leaving is
   * silently lost. Parked records are left at once.
   */
  async stop(drainMs: number): Promise<void> {
    this.#enter('stopping');
    for (const window of this.#order) {
      this.#setPaused(window, true);
      window.leave();
    }
    clearImmediate(this.#nextTick);
    clearTimeout(this.#wakeTimer);
    await within(
      drainMs,
      this.#drained(() => this.runningCount + this.parkedCount === 0),
    );
    this.#committer.stop();
    // A broker that is away answers neither: the next owner continues from the last commit.
    const leave = this.#committer.commitAll().then(() => this.#source.disconnect());
    await within(LEAVE_MS_MAX, leave);
  }

  /**
   * Called before the member joins again: waits for the running records and commits them. After the
   * join another member may own them and would repeat them. Parked records stay parked.
   */
  async settle(): Promise<void> {
    if (this.isJoined) this.#enter('settling');
    await within(
      SETTLE_MS_MAX,
      this.#drained(() => this.runningCount === 0),
    );
    await within(SETTLE_MS_MAX, this.#committer.commitAll());
  }

  /** While the process stops, members still come and go, but the consumer stays in `stopping`. */
  #enter(state: ConsumerState): void {
    if (this.#state !== 'stopping') this.#state = state;
  }

  #assign(assignment: Record<string, number[]>, memberId: string): void {
    const isNewMember = this.#memberId !== undefined && memberId !== this.#memberId;
    const wasOutside =
      isNewMember || this.#order.some(({ committedOffset }) => committedOffset === undefined);
    this.#memberId = memberId;
    const former = this.#order;
    this.#windows = assignWindows(assignment, this.#windows, wasOutside);
    this.#order = [...this.#windows.values()];
    // Their next owner evaluates the records too: here they would only take places from others.
    for (const window of former) if (!this.#order.includes(window)) window.leave();
    // kafkajs keeps the flag over a rebalance and loses it over a restart.
    for (const window of this.#order) {
      this.#setPaused(window, window.isPaused);
      // Records of it may have been dropped since it was paused, because other members have
      // finished them.
      this.#resumeIfLow(window);
    }
    this.#enter(wasOutside ? 'catching-up' : 'consuming');
    if (wasOutside) void this.#catchUp(this.#windows);
    this.#options.onAssignment();
    this.#options.log.info({ partitionCount: this.#order.length }, 'joined consumer group');
    this.#startRecords();
  }

  async #catchUp(windows: ReadonlyMap<string, PartitionWindow<M>>): Promise<void> {
    const committed = await readCommittedWithin(this.#options.readCommitted);
    // After another assignment this answer may be too old; that assignment has asked again.
    if (this.#windows !== windows) return;
    adoptCommitted(windows, committed);
    // A rebalance or a crash came first: the next assignment continues from here.
    if (this.#state !== 'catching-up') return;
    this.#enter('consuming');
    for (const window of this.#order) this.#resumeIfLow(window);
    this.#startRecords();
  }

  #accept(batch: {
    topic: string;
    partition: number;
    messages: KafkaMessage[];
    highWatermark: string;
  }): void {
    const window = this.#windows.get(`${batch.topic}/${batch.partition}`);
    if (!window) return;
    window.accept(batch.messages, Number(batch.highWatermark));
    const isFull = window.waitingCount > this.#backlogMax || window.waitingBytes > this.#backlogBytesMax;
    if (this.#state === 'stopping' || isFull) this.#setPaused(window, true);
    this.#startRecords();
  }

  #resumeIfLow(window: PartitionWindow<M>): void {
    const isLow =
      window.waitingCount <= this.#backlogMax / 2 && window.waitingBytes <= this.#backlogBytesMax / 2;
    if (window.isPaused && isLow) this.#setPaused(window, false);
  }

  #setPaused(window: PartitionWindow<M>, isPaused: boolean): void {
    window.isPaused = isPaused;
    const partitions = [{ topic: window.topic, partitions: [window.partition] }];
    try {
      this.#source[isPaused ? 'pause' : 'resume'](partitions);
    } catch {
      // Between a crash and the restart there is nothing to pause; the next assignment sets the
      // flag again.
    }
  }

  /** Starts records, one of each partition in turn, until the slots are full, nothing is due, or
   * the tick's share is used. */
  #startRecords(): void {
    let earliestDueAtMs = Number.POSITIVE_INFINITY;
    let misses = 0;
    while (this.#state === 'consuming' && !this.#slots.isFull && misses < this.#order.length) {
      if (!this.#tickShare.hasTime()) {
        this.#startRecordsNextTick();
        break;
      }
      const window = this.#order[this.#nextIndex++ % this.#order.length] as PartitionWindow<M>;
      const next = this.#next(window);
      const dueAtMs = next ? this.#parsed(window, next).dueAtMs : Number.POSITIVE_INFINITY;
      if (next && dueAtMs <= this.#options.now()) {
        misses = 0;
        this.#start(window, next);
      } else {
        misses++;
        earliestDueAtMs = Math.min(earliestDueAtMs, dueAtMs);
      }
    }
    this.#wakeAt(earliestDueAtMs);
  }

  #startRecordsNextTick(): void {
    if (this.#state === 'stopping') return;
    this.#nextTick ??= setImmediate(() => {
      this.#nextTick = undefined;
      this.#startRecords();
    });
  }

  #wakeAt(dueAtMs: number): void {
    clearTimeout(this.#wakeTimer);
    if (this.#state === 'stopping' || dueAtMs === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.min(Math.max(dueAtMs - this.#options.now(), 1), WAKE_MS_MAX);
    this.#wakeTimer = setTimeout(() => this.#startRecords(), waitMs);
  }

  /** The record of a partition that may start when it is due. */
  #next(window: PartitionWindow<M>): WindowRecord<M> | undefined {
    if (window.aheadCount >= this.#aheadMax) return undefined;
    let looks = 0;
    return window.next(
      (entry) => this.#ownerOf(window, entry),
      (owner, { record }) => this.#slots.mayRun(owner, bytesOf(record)),
      () => {
        // The look may parse a large record.
        const hasTime = this.#tickShare.hasTime();
        if (!hasTime) this.#startRecordsNextTick();
        return hasTime && ++looks < LOOKS_MAX;
      },
    );
  }

  #parsed(window: PartitionWindow<M>, entry: WindowRecord<M>): NonNullable<WindowRecord<M>['parsed']> {
    entry.parsed ??= this.#options.parse(entry.record, window.topic);
    return entry.parsed;
  }

  #ownerOf(window: PartitionWindow<M>, entry: WindowRecord<M>): Owner {
    if (entry.owner === undefined) {
      const { message } = this.#parsed(window, entry);
      const owner = message === undefined ? undefined : this.#options.ownerOf?.(message);
      entry.owner = owner ?? `${window.topic}/${window.partition}`;
    }
    return entry.owner;
  }

  #start(window: PartitionWindow<M>, next: WindowRecord<M>): void {
    const entry = window.take(next);
    this.#resumeIfLow(window);
    if (entry) void this.#run(window, entry);
  }

  /** Runs a record and then, one by one, the records of its key that were deferred behind it. */
  async #run(window: PartitionWindow<M>, first: WindowRecord<M>): Promise<void> {
    let entry: WindowRecord<M> | undefined = first;
    while (entry) {
      this.#parsed(window, entry);
      entry.aliveAtMs = performance.now();
      this.#inProgress.add(entry);
      const isFinished = await this.#process(window, entry);
      this.#inProgress.delete(entry);
      // A record that is left ends the prefix; the records of its key behind it are left too.
      entry = isFinished ? window.finish(entry) : undefined;
      if (entry) this.#resumeIfLow(window);
    }
    this.#resolveDrained();
    this.#startRecords();
  }

  async #process(window: PartitionWindow<M>, entry: WindowRecord<M>): Promise<boolean> {
    const slot = this.#slots.acquire(this.#ownerOf(window, entry), bytesOf(entry.record));
    const park = (leave: () => void): void => {
      window.onLeave(entry, leave);
      // In a later tick: starting the next record here would nest the calls as deep as the backlog
      // is long.
      if (this.#state !== 'stopping' && slot.park()) this.#startRecordsNextTick();
    };
    const isFinished = await this.#options.process(entry, window, park);
    window.onLeave(entry);
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
