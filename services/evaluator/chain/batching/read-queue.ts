import { failed, type Observation, type Read, type ReadLane } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import { BlockReads } from './block-reads.ts';
import {
  type Batch,
  type Entry,
  type IsolatedReadBudget,
  isAhead,
  isShared,
  join,
  leave,
  NOBODY,
  newBatch,
  type Ticket,
} from './entry.ts';

/** Calls of one chain in flight at a time; reads that arrive meanwhile share the next call. */
const CALLS_MAX = 4;
/** Extra calls for the interactive lane, so that it never waits for a call of the bulk lane. */
const URGENT_CALLS_MAX = 1;
/** Calls of batches while a single check has one, so that both sides of the connection have time for it; else all of them. */
const BATCH_CALLS_BESIDE_CHECKS_MAX = 1;
/** Extra calls for isolated reads, and the reads of one such call. */
const ISOLATED_CALLS_MAX = 2;
const ISOLATED_READS_MAX = 4;
/** Calls in flight for blocks that checks named by number: many of these must not delay the reads at the head. */
const PAST_CALLS_MAX = 2;
/** Blocks whose answers are cached for later checks: heads, and as many that checks named by number. */
const BLOCKS_MAX = 4;
/** Answers cached per block; further answers are delivered and not cached. */
const ANSWERS_PER_BLOCK_MAX = 20_000;

/** Answers the entries of a batch by setting their observations; entries that it leaves open are queued again. */
export type PerformBatch = (batch: Batch) => Promise<void>;

type ReadQueueOptions = {
  readonly perform: PerformBatch;
  /** Reads that one call may carry at present. */
  readonly batchMax: () => number;
  /** Whether a read is isolated from the start. */
  readonly isQuarantined: (read: Read) => boolean;
  /** After how many ms a suspect read of a client app may be repeated in isolation; `undefined`: not at all. */
  readonly takeIsolatedReadSlot: (clientId: string) => number | undefined;
  /** Whether an observation is a fact about the block that later checks may share. */
  readonly isFact: (observation: Observation) => boolean;
  readonly onSaved: (reason: 'dedupe' | 'cache') => void;
};

type ReadContext = {
  readonly lane: ReadLane;
  readonly clientId: string;
  readonly traceparent?: string;
  /** Shared by all chains of the check. */
  readonly isolatedReadBudget: IsolatedReadBudget;
  /** Whether the check named the block: such blocks have a share of their own of calls and of the cache. */
  readonly isPast?: boolean;
  readonly signal: AbortSignal;
};

/**
 * Coalesces the reads of all checks of one chain: equal reads of a block share one answer (but for the wallets of batches,
 * see `isShared`), and all waiting reads are sent together as soon as a call slot is free (no delay while the chain is idle). The interactive lane goes first, then
 * the bulk lane; batches have calls of their own, so that a single check never waits for a large call. Within a lane,
 * clients take turns.
 *
 *   waiting ──(call slot free)──► in flight ──► answered (cached while its block is recent)
 *      │ ▲                            │
 *      │ ├──(no gas left for it)──────┤
 *      │ └──(suspect, slot granted)───┤
 *      │                              └──(suspect, no slot)──► answered with its first outcome (not cached)
 *      └──(no check waits for it)──► dropped
 *
 * Suspect and quarantined reads are isolated: they wait and are sent apart from other reads, so that they cannot fail or
 * delay them. The number of repeated suspects is bounded per check and per client app.
 */
export class ReadQueue {
  readonly #options: ReadQueueOptions;
  /** By block hash, so that a reorg cannot mix two blocks; the least recently requested first. */
  readonly #blocks = new Map<string, BlockReads>();
  readonly #callCounts: Record<CallKind | 'past', number> = { shared: 0, batch: 0, isolated: 0, past: 0 };
  #isPumpDue = false;

  constructor(options: ReadQueueOptions) {
    this.#options = options;
  }

  get waitingCount(): number {
    let count = 0;
    for (const block of this.#blocks.values()) count += block.waitingCount;
    return count;
  }

  /** Returns one entry per read, when all are answered or the signal is aborted. */
  async read(block: Block, reads: readonly Read[], context: ReadContext): Promise<readonly Entry[]> {
    const ofBlock = this.#blockReads(block, context.isPast ?? false);
    const entries = reads.map((read) => this.#requestRead(ofBlock, read, context));
    await this.#wait(entries, context);
    this.#evict();
    return entries;
  }

  #requestRead(ofBlock: BlockReads, read: Read, { lane, clientId, traceparent }: ReadContext): Entry {
    const known = ofBlock.find(read, lane);
    if (known !== undefined) {
      this.#options.onSaved(known.observation === undefined ? 'dedupe' : 'cache');
      // A waiting read that a check of an earlier lane requests moves to that lane.
      if (isAhead(lane, known.lane) && known.batch === undefined && !known.isIsolated)
        ofBlock.waiting[lane].push(clientId, known);
      return known;
    }
    const entry: Entry = {
      read,
      lane,
      clientId,
      traceparent,
      observation: undefined,
      suspected: undefined,
      isIsolated: this.#options.isQuarantined(read),
      isProved: false,
      lastFailure: undefined,
      wantedBy: NOBODY,
      batch: undefined,
    };
    ofBlock.add(entry);
    ofBlock.queue(entry);
    return entry;
  }

  async #wait(
    entries: readonly Entry[],
    { signal, clientId, isolatedReadBudget }: ReadContext,
  ): Promise<void> {
    const open = entries.filter((entry) => entry.observation === undefined);
    if (open.length === 0 || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const ticket: Ticket = { openCount: open.length, clientId, isolatedReadBudget, done: resolve };
    join(open, ticket);
    signal.addEventListener('abort', ticket.done, { once: true });
    this.#schedulePump();
    await promise;
    signal.removeEventListener('abort', ticket.done);
    for (const entry of open) if (entry.observation === undefined) leave(entry, ticket);
  }

  #blockReads(block: Block, isPast: boolean): BlockReads {
    const known = this.#blocks.get(block.hash) ?? new BlockReads(block);
    known.isPast &&= isPast;
    this.#blocks.delete(block.hash);
    this.#blocks.set(block.hash, known);
    return known;
  }

  /** Evicts old blocks once no check waits for a read of them and no call for them is in flight. */
  #evict(): void {
    for (const isPast of [false, true]) {
      const alike = [...this.#blocks].filter(([, block]) => block.isPast === isPast);
      const idle = alike.filter(([, { isIdle }]) => isIdle);
      for (const [hash] of idle.slice(0, Math.max(0, alike.length - BLOCKS_MAX))) this.#blocks.delete(hash);
    }
  }

  /** Sends in the next tick of the event loop, so that reads of all checks of this tick share calls. */
  #schedulePump(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#callCounts.shared < this.#sharedCallsMax && this.#start('shared'));
    while (this.#mayCallForBatches && this.#start('batch'));
    while (this.#callCounts.isolated < ISOLATED_CALLS_MAX && this.#start('isolated'));
  }

  get #mayCallForBatches(): boolean {
    const { shared, batch } = this.#callCounts;
    return shared + batch < CALLS_MAX && (shared === 0 || batch < BATCH_CALLS_BESIDE_CHECKS_MAX);
  }

  get #sharedCallsMax(): number {
    const isUrgent = [...this.#blocks.values()].some(({ waiting }) => waiting.interactive.size > 0);
    return isUrgent ? CALLS_MAX + URGENT_CALLS_MAX : CALLS_MAX;
  }

  #start(kind: CallKind): boolean {
    const next = this.#nextBatch(kind);
    if (next === undefined) return false;
    void this.#run(next.batch, next.ofBlock, kind);
    return true;
  }

  #nextBatch(kind: CallKind): { batch: Batch; ofBlock: BlockReads } | undefined {
    // Heads first; among each, the block that was requested least recently.
    const all = [...this.#blocks.values()];
    const past = this.#callCounts.past < PAST_CALLS_MAX ? all.filter((block) => block.isPast) : [];
    const blocks = [...all.filter((block) => !block.isPast), ...past];
    for (;;) {
      const ofBlock =
        blocks.find((block) => kind === 'shared' && block.waiting.interactive.size > 0) ??
        blocks.find((block) => waitingOf(block, kind) > 0);
      if (ofBlock === undefined) return undefined;
      const batch = newBatch(ofBlock.block, ofBlock.isPast, kind === 'isolated');
      batch.entries = this.#take(ofBlock, batch, kind);
      batch.wantedCount = batch.entries.length;
      // All waiting entries may have been dropped, because no check waits for them any more.
      if (batch.entries.length > 0) return { batch, ofBlock };
    }
  }

  #take(ofBlock: BlockReads, batch: Batch, kind: CallKind): Entry[] {
    if (kind === 'isolated') return ofBlock.takeIsolated(batch, ISOLATED_READS_MAX);
    const max = this.#options.batchMax();
    return kind === 'shared' ? ofBlock.takeShared(batch, max) : ofBlock.takeOfBatches(batch, max);
  }

  async #run(batch: Batch, ofBlock: BlockReads, slot: CallKind): Promise<void> {
    const pastCount = ofBlock.isPast ? 1 : 0;
    ofBlock.callCount += 1;
    this.#callCounts[slot] += 1;
    this.#callCounts.past += pastCount;
    try {
      await this.#options.perform(batch);
    } catch {
      for (const entry of batch.entries) entry.observation ??= [failed('internal')];
    }
    this.#callCounts[slot] -= 1;
    this.#callCounts.past -= pastCount;
    ofBlock.callCount -= 1;
    this.#blockReads(batch.block, ofBlock.isPast);
    for (const entry of batch.entries) this.#settle(entry, ofBlock);
    this.#evict();
    this.#pump();
  }

  #settle(entry: Entry, ofBlock: BlockReads): void {
    entry.batch = undefined;
    if (entry.observation === undefined && entry.wantedBy.length === 0) {
      ofBlock.delete(entry);
      return;
    }
    const isFirstOutcome =
      entry.observation === undefined && entry.suspected !== undefined && !entry.isIsolated;
    const waitMs = isFirstOutcome ? this.#takeIsolatedReadSlot(entry) : undefined;
    if (waitMs !== undefined) {
      this.#queueIsolated(entry, ofBlock, waitMs);
      return;
    }
    if (isFirstOutcome) entry.observation = entry.suspected;
    if (entry.observation === undefined) {
      ofBlock.queue(entry);
      return;
    }
    const isKept =
      !isFirstOutcome &&
      isShared(entry.read, entry.lane) &&
      this.#options.isFact(entry.observation) &&
      ofBlock.sharedEntryCount <= ANSWERS_PER_BLOCK_MAX;
    if (!isKept) ofBlock.delete(entry);
    for (const ticket of entry.wantedBy) {
      ticket.openCount -= 1;
      if (ticket.openCount === 0) ticket.done();
    }
    entry.wantedBy = NOBODY;
  }
  /** Takes the slot of the first client app that requested the read and still has one; all waiting checks share it. */
  #takeIsolatedReadSlot(entry: Entry): number | undefined {
    for (const { clientId, isolatedReadBudget } of entry.wantedBy) {
      const waitMs =
        isolatedReadBudget.readsLeft > 0 ? this.#options.takeIsolatedReadSlot(clientId) : undefined;
      if (waitMs === undefined) continue;
      isolatedReadBudget.readsLeft -= 1;
      return waitMs;
    }
    return undefined;
  }

  #queueIsolated(entry: Entry, ofBlock: BlockReads, waitMs: number): void {
    entry.isIsolated = true;
    if (waitMs === 0) {
      ofBlock.queue(entry);
      return;
    }
    ofBlock.pausedCount += 1;
    const queue = () => {
      ofBlock.pausedCount -= 1;
      ofBlock.queue(entry);
      this.#pump();
    };
    setTimeout(queue, waitMs).unref();
  }
}

/** Reads of single checks, reads of batches, and isolated reads never share a call. */
type CallKind = 'shared' | 'batch' | 'isolated';

const waitingOf = (block: BlockReads, kind: CallKind): number =>
  kind === 'shared' ? block.sharedCount : block.waiting[kind].size;
