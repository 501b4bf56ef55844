import { failed, type Observation, type Read } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import { BlockReads, type Group } from './block-reads.ts';
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
/** How many seconds of its client app's slots a read waits for a call with more gas. */
const COSTLY_WINDOWS_MAX = 4;
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
  /** The same for a call for reads of one contract that needed more gas. */
  readonly takeCostlyCallSlot: (clientId: string, windowsMax: number) => number | undefined;
  /** Whether a client app's reads of a contract needed more gas before. */
  readonly isCostly: (clientId: string, contract: string) => boolean;
  /** Called when a read of a contract was answered with more gas. */
  readonly onCostly: (clientId: string, contract: string) => void;
  /** Whether an observation is a fact about the block that later checks may share. */
  readonly isFact: (observation: Observation) => boolean;
  readonly onSaved: (reason: 'dedupe' | 'cache') => void;
};

type ReadContext = Pick<Entry, 'lane' | 'accountId' | 'clientId'> & {
  readonly traceparent?: string;
  /** Shared by all chains of the check. */
  readonly isolatedReads: IsolatedReadBudget;
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
 * A suspect is sent again apart from other reads, so that it cannot fail or delay them:
 *
 * | way | sent with | after | costs |
 * | --- | --- | --- | --- |
 * | costly | up to 40 reads of its contract, more gas each | used-up gas, if others of the contract used it up too | a slot of the client app per call |
 * | caller | up to 40 reads of its contract, and a plain call | a revert that would decide a rule | a place of one check and a slot per call |
 * | isolated | at most 3 others, the most gas | anything else, or used-up gas once more | a place of its check and a slot |
 *
 * The slots of a client app bound how many of these start in a second. Quarantined reads are isolated from the start.
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

  #requestRead(ofBlock: BlockReads, read: Read, context: ReadContext): Entry {
    const { lane, accountId, clientId, traceparent } = context;
    const known = ofBlock.find(read, lane);
    if (known !== undefined) {
      this.#options.onSaved(known.observation === undefined ? 'dedupe' : 'cache');
      // A waiting read that a check of an earlier lane requests moves to that lane.
      if (isAhead(lane, known.lane) && known.batch === undefined && known.way === 'shared')
        ofBlock.waiting[lane].push(context, known);
      return known;
    }
    const entry: Entry = {
      read,
      lane,
      accountId,
      clientId,
      traceparent,
      observation: undefined,
      suspected: undefined,
      suspicion: undefined,
      way: this.#options.isQuarantined(read) ? 'isolated' : 'shared',
      isProved: false,
      hasState: false,
      lastFailure: undefined,
      wantedBy: NOBODY,
      batch: undefined,
    };
    ofBlock.add(entry);
    // Without a slot at once it is tried with other reads first: it may be one that costs little.
    const isGrouped =
      entry.way === 'shared' &&
      this.#options.isCostly(clientId, read.contract) &&
      this.#joinCostly(entry, ofBlock, clientId, 0);
    if (!isGrouped) ofBlock.queue(entry);
    return entry;
  }

  async #wait(entries: readonly Entry[], { signal, clientId, isolatedReads }: ReadContext): Promise<void> {
    const open = entries.filter((entry) => entry.observation === undefined);
    if (open.length === 0 || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const ticket: Ticket = { openCount: open.length, clientId, isolatedReads, done: resolve };
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
      const group = kind === 'isolated' ? ofBlock.readyGroups[0] : undefined;
      const way = group?.way ?? (kind === 'isolated' ? kind : 'shared');
      const batch = newBatch(ofBlock.block, ofBlock.isPast, way, group?.clientId);
      batch.entries = group ? ofBlock.takeGroup(batch, group) : this.#take(ofBlock, batch, kind);
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
    this.#noteCostly(batch);
    const exhausted = countExhausted(batch.entries);
    for (const entry of batch.entries)
      this.#settle(entry, ofBlock, (exhausted.get(entry.read.contract) ?? 0) > 1);
    this.#evict();
    this.#pump();
  }

  /** Remembers, for the client apps that want them, the contracts whose reads were answered with more gas. */
  #noteCostly({ way, clientId, entries }: Batch): void {
    if (way !== 'costly' && way !== 'isolated') return;
    for (const { read, observation, wantedBy } of entries) {
      const client = clientId ?? wantedBy[0]?.clientId;
      const isAnswered = observation?.some(({ ok }) => ok) ?? false;
      if (client !== undefined && isAnswered) this.#options.onCostly(client, read.contract);
    }
  }

  /** @param isOneOfMany whether other reads of its contract used up their gas in the same call */
  #settle(entry: Entry, ofBlock: BlockReads, isOneOfMany: boolean): void {
    entry.batch = undefined;
    if (entry.observation === undefined && entry.wantedBy.length === 0) {
      ofBlock.delete(entry);
      return;
    }
    if (entry.observation === undefined && this.#sendAgain(entry, ofBlock, isOneOfMany)) return;
    const isFirstOutcome = entry.observation === undefined;
    entry.observation ??= entry.suspected ?? [failed('not-read-alone')];
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

  /** Returns whether the read is sent again: it was not tried, or its outcome is not final and there is room for it. */
  #sendAgain(entry: Entry, ofBlock: BlockReads, isOneOfMany: boolean): boolean {
    const { suspicion, way } = entry;
    if (suspicion === undefined && (way === 'shared' || way === 'isolated')) {
      ofBlock.queue(entry);
      return true;
    }
    const isToJoin =
      suspicion === undefined ? way === 'costly' : way === 'shared' && suspicion === 'gas' && isOneOfMany;
    if (isToJoin)
      for (const { clientId } of entry.wantedBy)
        if (this.#joinCostly(entry, ofBlock, clientId, COSTLY_WINDOWS_MAX)) return true;
    if (way === 'isolated') return false;
    const isOfCaller = suspicion === 'caller' || (suspicion === undefined && way === 'caller');
    return isOfCaller ? this.#joinCaller(entry, ofBlock) : this.#isolate(entry, ofBlock);
  }

  #joinCostly(entry: Entry, ofBlock: BlockReads, clientId: string, windowsMax: number): boolean {
    const isOpen = ofBlock.hasOpenGroup(entry.read, 'costly', clientId);
    const waitMs = isOpen ? 0 : this.#options.takeCostlyCallSlot(clientId, windowsMax);
    if (waitMs === undefined) return false;
    this.#scheduleGroup(ofBlock, ofBlock.joinGroup(entry, 'costly', clientId), waitMs);
    return true;
  }

  #joinCaller(entry: Entry, ofBlock: BlockReads): boolean {
    const open = entry.wantedBy.find(({ clientId }) => ofBlock.hasOpenGroup(entry.read, 'caller', clientId));
    const place = open ? { clientId: open.clientId, waitMs: 0 } : this.#takePlace(entry);
    if (place === undefined) return false;
    this.#scheduleGroup(ofBlock, ofBlock.joinGroup(entry, 'caller', place.clientId), place.waitMs);
    return true;
  }

  #scheduleGroup(ofBlock: BlockReads, group: Group | undefined, waitMs: number): void {
    if (group !== undefined) this.#later(waitMs, () => ofBlock.readyGroups.push(group));
  }

  #isolate(entry: Entry, ofBlock: BlockReads): boolean {
    const place = this.#takePlace(entry);
    if (place === undefined) return false;
    entry.way = 'isolated';
    ofBlock.pausedCount += 1;
    this.#later(place.waitMs, () => {
      ofBlock.pausedCount -= 1;
      ofBlock.queue(entry);
    });
    return true;
  }

  /** Takes the place and the slot of the first client app that requested the read and still has both. */
  #takePlace({ read, wantedBy }: Entry): { readonly clientId: string; readonly waitMs: number } | undefined {
    for (const { clientId, isolatedReads } of wantedBy) {
      const waitMs = isolatedReads.hasRoomFor(read)
        ? this.#options.takeIsolatedReadSlot(clientId)
        : undefined;
      if (waitMs === undefined) continue;
      isolatedReads.spend(read);
      return { clientId, waitMs };
    }
    return undefined;
  }

  #later(waitMs: number, start: () => void): void {
    if (waitMs === 0) {
      start();
      return;
    }
    const startAndPump = () => {
      start();
      this.#pump();
    };
    setTimeout(startAndPump, waitMs).unref();
  }
}

/** How many reads of each contract used up their gas. */
function countExhausted(entries: readonly Entry[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { suspicion, read } of entries)
    if (suspicion === 'gas') counts.set(read.contract, (counts.get(read.contract) ?? 0) + 1);
  return counts;
}

/** Reads of single checks, reads of batches, and isolated reads never share a call. */
type CallKind = 'shared' | 'batch' | 'isolated';

const waitingOf = (block: BlockReads, kind: CallKind): number =>
  kind === 'shared'
    ? block.sharedCount
    : kind === 'isolated'
      ? block.isolatedCount
      : block.waiting.batch.size;
