import type { Lane } from '#shared/contracts/check-requested.ts';
import type { UndeterminedCode } from '#shared/contracts/result.ts';
import { failed, type Observation, type Read } from '../domain/read.ts';
import type { Block } from './block.ts';
import { FairQueue } from './fair-queue.ts';

/** Calls of one chain on their way at a time; what comes meanwhile goes out together in the next. */
const CALLS_MAX = 4;
/** Blocks whose answers are kept for checks to come. */
const BLOCKS_MAX = 4;
/** Answers kept per block; beyond, they are given out and forgotten. */
const ANSWERS_PER_BLOCK_MAX = 100_000;

/** One read of one block: waiting, on its way or answered, and shared by all who want it. */
export type Entry = {
  readonly read: Read;
  readonly lane: Lane;
  readonly clientId: string;
  observation: Observation | undefined;
  /** Whether the block was proved by the call that answered. */
  isProved: boolean;
  /** The code of the last attempt that failed, for those who must end before there is an answer. */
  lastCode: UndeterminedCode | undefined;
  wantedBy: Ticket[];
  /** The call that carries it. */
  batch: Batch | undefined;
};

/** Reads of one block that go out together. */
export type Batch = {
  readonly block: Block;
  readonly entries: readonly Entry[];
  /** Aborted when nobody waits for any of its entries any more. */
  readonly controller: AbortController;
  wantedCount: number;
};

/** A check's wait for its reads of one chain. */
type Ticket = { openCount: number; readonly done: () => void };

/** Answers every entry of a batch by setting its observation; what it leaves open is queued again. */
export type PerformBatch = (batch: Batch) => Promise<void>;

export type ReadQueueOptions = {
  readonly perform: PerformBatch;
  /** Reads that one call carries now. */
  readonly batchMax: () => number;
  /** Whether an observation is a fact about the block that later checks may share. */
  readonly isFact: (observation: Observation) => boolean;
  readonly onSaved: (reason: 'dedupe' | 'cache') => void;
};

export type ReadContext = { readonly lane: Lane; readonly clientId: string; readonly signal: AbortSignal };

/**
 * Coalesces the reads of all checks of one chain: equal reads of a block share one answer, and all that wait go
 * out together as soon as a call is free (no delay while the chain is idle). The interactive lane goes first,
 * then the clients in turn.
 *
 *   waiting ──(a call is free)──► on its way ──► answered (kept while its block is recent)
 *      └──(nobody wants it any more)──► dropped
 */
export class ReadQueue {
  readonly #options: ReadQueueOptions;
  /** By block hash, the least recently wanted first, so that a reorg cannot mix two blocks. */
  readonly #blocks = new Map<string, BlockReads>();
  #callCount = 0;
  #isPumpDue = false;

  constructor(options: ReadQueueOptions) {
    this.#options = options;
  }

  get waitingCount(): number {
    let count = 0;
    for (const block of this.#blocks.values()) count += block.waitingCount;
    return count;
  }

  /** One entry per read. Ends when all are answered or when the signal says so. */
  async read(block: Block, reads: readonly Read[], context: ReadContext): Promise<readonly Entry[]> {
    const ofBlock = this.#blockReads(block);
    const entries = reads.map((read) => this.#want(ofBlock, read, context));
    await this.#wait(entries, context.signal);
    this.#evict();
    return entries;
  }

  #want(ofBlock: BlockReads, read: Read, { lane, clientId }: ReadContext): Entry {
    const known = ofBlock.entries.get(read.key);
    if (known !== undefined) {
      this.#options.onSaved(known.observation === undefined ? 'dedupe' : 'cache');
      // A read of the bulk lane that somebody waits for at the front is moved to the front.
      if (known.lane === 'bulk' && lane === 'interactive' && known.batch === undefined)
        ofBlock.waiting.interactive.push(clientId, known);
      return known;
    }
    const entry: Entry = {
      read,
      lane,
      clientId,
      observation: undefined,
      isProved: false,
      lastCode: undefined,
      wantedBy: [],
      batch: undefined,
    };
    ofBlock.entries.set(read.key, entry);
    ofBlock.waiting[lane].push(clientId, entry);
    return entry;
  }

  async #wait(entries: readonly Entry[], signal: AbortSignal): Promise<void> {
    const open = entries.filter((entry) => entry.observation === undefined);
    if (open.length === 0 || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const ticket: Ticket = { openCount: open.length, done: resolve };
    for (const entry of open) join(entry, ticket);
    signal.addEventListener('abort', ticket.done, { once: true });
    this.#schedulePump();
    await promise;
    signal.removeEventListener('abort', ticket.done);
    for (const entry of open) if (entry.observation === undefined) leave(entry, ticket);
  }

  #blockReads(block: Block): BlockReads {
    const known = this.#blocks.get(block.hash) ?? new BlockReads(block);
    this.#blocks.delete(block.hash);
    this.#blocks.set(block.hash, known);
    return known;
  }

  /** Old blocks are forgotten once nobody waits for a read of them. */
  #evict(): void {
    for (const [hash, block] of this.#blocks) {
      if (this.#blocks.size <= BLOCKS_MAX) return;
      if (block.waitingCount === 0) this.#blocks.delete(hash);
    }
  }

  /** In the next turn of the event loop, so that all checks of this turn go out together. */
  #schedulePump(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#callCount < CALLS_MAX) {
      const batch = this.#nextBatch();
      if (batch === undefined) return;
      this.#callCount += 1;
      void this.#run(batch);
    }
  }

  #nextBatch(): Batch | undefined {
    const blocks = [...this.#blocks.values()];
    const ofBlock =
      blocks.find((block) => block.waiting.interactive.size > 0) ??
      blocks.find((block) => block.waitingCount > 0);
    if (ofBlock === undefined) return undefined;
    const entries = ofBlock.take(this.#options.batchMax());
    if (entries.length === 0) return this.#nextBatch();
    const batch: Batch = {
      block: ofBlock.block,
      entries,
      controller: new AbortController(),
      wantedCount: entries.length,
    };
    for (const entry of entries) entry.batch = batch;
    return batch;
  }

  async #run(batch: Batch): Promise<void> {
    try {
      await this.#options.perform(batch);
    } catch {
      for (const entry of batch.entries) entry.observation ??= [failed('internal')];
    }
    this.#callCount -= 1;
    const ofBlock = this.#blockReads(batch.block);
    for (const entry of batch.entries) this.#settle(entry, ofBlock);
    this.#evict();
    this.#pump();
  }

  #settle(entry: Entry, ofBlock: BlockReads): void {
    entry.batch = undefined;
    if (entry.observation === undefined) {
      if (entry.wantedBy.length > 0) ofBlock.waiting[entry.lane].push(entry.clientId, entry);
      else ofBlock.entries.delete(entry.read.key);
      return;
    }
    const isKept = this.#options.isFact(entry.observation) && ofBlock.entries.size <= ANSWERS_PER_BLOCK_MAX;
    if (!isKept) ofBlock.entries.delete(entry.read.key);
    for (const ticket of entry.wantedBy) {
      ticket.openCount -= 1;
      if (ticket.openCount === 0) ticket.done();
    }
    entry.wantedBy = [];
  }
}

/** The reads of one block. */
class BlockReads {
  readonly block: Block;
  readonly entries = new Map<string, Entry>();
  readonly waiting: Readonly<Record<Lane, FairQueue<Entry>>> = {
    interactive: new FairQueue(),
    bulk: new FairQueue(),
  };

  constructor(block: Block) {
    this.block = block;
  }

  get waitingCount(): number {
    return this.waiting.interactive.size + this.waiting.bulk.size;
  }

  take(max: number): Entry[] {
    const taken = new Set<Entry>();
    const isWanted = (entry: Entry): boolean => {
      if (entry.observation !== undefined || entry.batch !== undefined || taken.has(entry)) return false;
      if (entry.wantedBy.length > 0) {
        taken.add(entry);
        return true;
      }
      this.entries.delete(entry.read.key);
      return false;
    };
    this.waiting.interactive.take(max, isWanted);
    this.waiting.bulk.take(max - taken.size, isWanted);
    return [...taken];
  }
}

function join(entry: Entry, ticket: Ticket): void {
  if (entry.batch !== undefined && entry.wantedBy.length === 0) entry.batch.wantedCount += 1;
  entry.wantedBy.push(ticket);
}

function leave(entry: Entry, ticket: Ticket): void {
  entry.wantedBy = entry.wantedBy.filter((other) => other !== ticket);
  if (entry.wantedBy.length > 0 || entry.batch === undefined) return;
  entry.batch.wantedCount -= 1;
  if (entry.batch.wantedCount === 0) entry.batch.controller.abort();
}

/** What is known of a read; of one that is still open when its check must end, why its last attempt failed. */
export const observationOf = (entry: Entry): Observation =>
  entry.observation ?? [failed(entry.lastCode ?? 'deadline-exceeded')];
