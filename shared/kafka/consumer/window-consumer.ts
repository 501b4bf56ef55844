import type { Consumer as KafkaConsumer, KafkaMessage } from 'kafkajs';
import type { Logger } from '#shared/telemetry/log.ts';
import { within } from '#shared/wait-for.ts';
import type { ConsumerProgress } from './check-progress.ts';
import {
  adoptCommitted,
  assignWindows,
  type BeforeCommit,
  type Committer,
  makeCommitter,
  readCommittedWithin,
} from './commit-offsets.ts';
import { copyRecord, type PartitionWindow } from './partition-window.ts';
import { RecordScheduler, type WindowWork } from './record-scheduler.ts';

/** How long a stop waits for the last commit and for leaving the group. */
const LEAVE_MS_MAX = 3_000;
/** How long a rebalance waits for running records, and then for their commit. Well below any
 * session timeout. */
const SETTLE_MS_MAX = 1_000;
/** Fetched bytes of one partition that may wait before it is paused. */
export const BACKLOG_BYTES_MAX = 1024 * 1024;

/** The part of kafkajs's consumer that the window uses. */
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

type Options<M> = WindowWork<M> & {
  readonly topics: readonly string[];
  /** Records that run at once in this process, over all partitions; parked records are in addition
   * to these. */
  readonly window: number;
  /** Whether records may wait for hours until they are due: as fetched, each keeps a response of up
   * to 10 MiB in memory. */
  readonly mayWaitLong?: boolean;
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
  readonly #options: Options<M>;
  readonly #backlogMax: number;
  readonly #committer: Committer;
  readonly #scheduler: RecordScheduler<M>;
  #state: ConsumerState = 'joining';
  #memberId: string | undefined;
  #windows = new Map<string, PartitionWindow<M>>();
  #order: PartitionWindow<M>[] = [];

  constructor(source: WindowSource, options: Options<M>) {
    this.#source = source;
    this.#options = options;
    this.#backlogMax = 2 * options.window;
    this.#committer = makeCommitter(source, () => this.#order, options.beforeCommit);
    this.#scheduler = new RecordScheduler({
      ...options,
      mayStart: () => this.#state === 'consuming',
      onTaken: (window) => this.#resumeIfLow(window),
    });
  }

  get state(): ConsumerState {
    return this.#state;
  }

  get runningCount(): number {
    return this.#scheduler.runningCount;
  }

  get parkedCount(): number {
    return this.#scheduler.parkedCount;
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
    return { isConsuming, silentMs: this.#scheduler.silentMs, fetching };
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
    for (const window of this.#order) this.#setPaused(window, true);
    this.#scheduler.stop();
    await within(drainMs, this.#scheduler.whenIdle());
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
    await within(SETTLE_MS_MAX, this.#scheduler.whenNoneRuns());
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
    this.#windows = assignWindows(assignment, this.#windows, wasOutside);
    this.#order = [...this.#windows.values()];
    this.#scheduler.assign(this.#order);
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
    this.#scheduler.startRecords();
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
    this.#scheduler.startRecords();
  }

  #accept(batch: {
    topic: string;
    partition: number;
    messages: KafkaMessage[];
    highWatermark: string;
  }): void {
    const window = this.#windows.get(`${batch.topic}/${batch.partition}`);
    if (!window) return;
    const messages = this.#options.mayWaitLong ? batch.messages.map(copyRecord) : batch.messages;
    window.accept(messages, Number(batch.highWatermark));
    const isFull = window.waitingCount > this.#backlogMax || window.waitingBytes > BACKLOG_BYTES_MAX;
    if (this.#state === 'stopping' || isFull) this.#setPaused(window, true);
    this.#scheduler.startRecords();
  }

  #resumeIfLow(window: PartitionWindow<M>): void {
    const isLow = window.waitingCount <= this.#backlogMax / 2 && window.waitingBytes <= BACKLOG_BYTES_MAX / 2;
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
}
