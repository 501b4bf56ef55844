import { FairQueue } from '#shared/fairness/fair-queue.ts';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { failed, type Observation, type Read } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import { COSTLY_MS, type IsolatedReadSlots, RememberedNames } from '../reader/reads-apart.ts';
import { BlockReads, nameOf } from './block-reads.ts';
import {
  type Asker,
  type Batch,
  type Entry,
  isAhead,
  isShared,
  join,
  leave,
  NO_ENDPOINTS,
  NOBODY,
  newBatch,
  type ReadWay,
  type Ticket,
} from './entry.ts';

/** Calls of one chain in flight at a time; reads that arrive meanwhile share the next call. */
const CALLS_MAX = 4;
/** Extra calls for the interactive lane, so that it never waits for a call of the bulk lane. */
const URGENT_CALLS_MAX = 1;
/** Calls of batches while a single check has one, so that both sides of the connection have time
 * for it; else all of them. */
const BATCH_CALLS_BESIDE_CHECKS_MAX = 1;
/** Extra calls for reads that are sent apart, and the reads of one such call. */
const APART_CALLS_MAX = 2;
const READS_APART_MAX = { costly: 40, caller: 40, isolated: 4 } as const;
/** How many seconds of its client app's slots a read waits for a call with more gas. */
const COSTLY_WINDOWS_MAX = 4;
/** Calls in flight for blocks that checks named by number: many of these must not delay the reads
 * at the head. */
const PAST_CALLS_MAX = 2;
/** Blocks whose answers are cached for later checks: heads, and as many that checks named by
 * number. */
const BLOCKS_MAX = 4;
/** Answers cached per block; further answers are delivered and not cached. */
const ANSWERS_PER_BLOCK_MAX = 20_000;

/** Reads of one client app that share a call of their own: of one contract, or isolated ones. */
type Group = {
  readonly way: keyof typeof READS_APART_MAX;
  readonly app: AppOwner;
  readonly ofBlock: BlockReads;
  readonly entries: Entry[];
};

/** Answers the entries of a batch by setting their observations; entries that it leaves open are
 * queued again. */
export type PerformBatch = (batch: Batch) => Promise<void>;

type ReadQueueOptions = {
  readonly perform: PerformBatch;
  /** Reads that one call may carry at present. */
  readonly batchMax: () => number;
  /** The keys of reads that are isolated from the start. */
  readonly quarantine: Pick<RememberedNames, 'has'>;
  /** How often a suspect read of a client app may be repeated in isolation. */
  readonly isolatedReads: Pick<IsolatedReadSlots, 'take'>;
  /** The same for a call for reads of one contract that needed more gas. */
  readonly costlyCalls: Pick<IsolatedReadSlots, 'take'>;
  /** Whether an observation is a fact about the block that later checks may share. */
  readonly isFact: (observation: Observation) => boolean;
  readonly onSaved: (reason: 'dedupe' | 'cache') => void;
};

type ReadContext = Asker & {
  readonly lane: Entry['lane'];
  readonly traceparent?: string;
  /** Set if the check named the block: such blocks have a share of their own of calls and of the
   * cache. */
  readonly atBlock?: number | undefined;
  /** The endpoints that are asked only if there are too few others: such reads are shared with no
   * check that avoids none. */
  readonly avoid?: readonly string[] | undefined;
  readonly signal: AbortSignal;
};

/**
 * Coalesces the reads of all checks of one chain: equal reads of a block share one answer (but for
 * the wallets of batches, see `isShared`), and all waiting reads are sent together as soon as a
 * call slot is free (no delay while the chain is idle). The interactive lane goes first, then the
 * bulk lane; batches have calls of their own, so that a single check never waits for a large call.
 * Within a lane, clients take turns.
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
 * | isolated | at most 3 others of its client app, the most gas | anything else, or used-up gas once more | a place of its check and a slot |
 *
 * The slots of a client app bound how many of these start in a second, and accounts take turns,
 * then their apps. Quarantined reads are isolated from the start, with the same bounds.
 */
export class ReadQueue {
  readonly #options: ReadQueueOptions;
  /** By name; the least recently requested first. */
  readonly #blocks = new Map<string, BlockReads>();
  readonly #callCounts: Record<CallKind | 'past', number> = { shared: 0, batch: 0, apart: 0, past: 0 };
  /** Groups that further reads may join, by block, way, client app and contract. */
  readonly #openGroups = new Map<string, Group>();
  /** Groups whose call may go out. */
  readonly #readyGroups = new FairQueue<Group>();
  /** `clientId/contract` of contracts whose reads needed more gas before. */
  readonly #costlyContracts = new RememberedNames(COSTLY_MS);
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
  read(block: Block, reads: readonly Read[], context: ReadContext): Promise<readonly Entry[]> {
    const ofBlock = this.#blockReads(block, context.avoid ?? NO_ENDPOINTS, context.atBlock !== undefined);
    const entries = reads.map((read) => this.#requestRead(ofBlock, read, context));
    this.#evict();
    return this.#wait(entries, context);
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
      way: 'shared',
      source: undefined,
      lastFailure: undefined,
      wantedBy: NOBODY,
      batch: undefined,
    };
    if (this.#options.quarantine.has(read.key)) {
      if (!this.#isolate(entry, ofBlock, [context])) {
        entry.observation = [failed('not-read-alone')];
        return entry;
      }
    } else if (
      !this.#costlyContracts.has(`${clientId}/${read.contract}`) ||
      // Without a slot at once it is tried with other reads first: it may be one that costs little.
      !this.#joinCostly(entry, ofBlock, context, 0)
    )
      ofBlock.queue(entry);
    ofBlock.add(entry);
    return entry;
  }

  #wait(entries: readonly Entry[], context: ReadContext): Promise<readonly Entry[]> {
    const { signal, accountId, clientId, isolatedReads } = context;
    const open = entries.filter((entry) => entry.observation === undefined);
    if (open.length === 0 || signal.aborted) return Promise.resolve(entries);
    const { promise, resolve } = Promise.withResolvers<readonly Entry[]>();
    const done = (): void => {
      signal.removeEventListener('abort', done);
      for (const entry of open) if (entry.observation === undefined) leave(entry, ticket);
      resolve(entries);
    };
    const ticket: Ticket = { openCount: open.length, accountId, clientId, isolatedReads, done };
    join(open, ticket);
    signal.addEventListener('abort', done);
    this.#schedulePump();
    return promise;
  }

  #blockReads(block: Block, avoid: readonly string[], isPast: boolean): BlockReads {
    const name = nameOf(block, avoid);
    const known = this.#blocks.get(name) ?? new BlockReads(block, avoid);
    known.isPast &&= isPast;
    this.#blocks.delete(name);
    this.#blocks.set(name, known);
    return known;
  }

  /** Evicts old blocks once no check waits for a read of them and no call for them is in flight. */
  #evict(): void {
    if (this.#blocks.size <= BLOCKS_MAX) return;
    for (const isPast of [false, true]) {
      const alike = [...this.#blocks].filter(([, block]) => block.isPast === isPast);
      const idle = alike.filter(([, { isIdle }]) => isIdle);
      for (const [hash] of idle.slice(0, Math.max(0, alike.length - BLOCKS_MAX))) this.#blocks.delete(hash);
    }
  }

  /** Sends in the next tick of the event loop, so that reads of all checks of this tick share
   * calls. */
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
    while (this.#callCounts.apart < APART_CALLS_MAX && this.#start('apart'));
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
    const mayCallForPast = this.#callCounts.past < PAST_CALLS_MAX;
    for (;;) {
      const next =
        kind === 'apart' ? this.#nextGroup(mayCallForPast) : this.#nextShared(kind, mayCallForPast);
      if (next === undefined) return undefined;
      const { batch } = next;
      batch.wantedCount = batch.entries.length;
      // All waiting entries may have been dropped, because no check waits for them any more.
      if (batch.entries.length > 0) return next;
    }
  }

  /** Heads first; among each, the block that was requested least recently. */
  #nextShared(kind: 'shared' | 'batch', mayCallForPast: boolean) {
    const all = [...this.#blocks.values()];
    const past = mayCallForPast ? all.filter((block) => block.isPast) : [];
    const blocks = [...all.filter((block) => !block.isPast), ...past];
    const waitingOf = ({ sharedCount, waiting }: BlockReads) =>
      kind === 'shared' ? sharedCount : waiting.batch.size;
    const ofBlock =
      blocks.find(({ waiting }) => kind === 'shared' && waiting.interactive.size > 0) ??
      blocks.find((block) => waitingOf(block) > 0);
    if (ofBlock === undefined) return undefined;
    const batch = newBatch(ofBlock, 'shared');
    const max = this.#options.batchMax();
    batch.entries = kind === 'shared' ? ofBlock.takeShared(batch, max) : ofBlock.takeOfBatches(batch, max);
    return { batch, ofBlock };
  }

  /** Heads first; among each, accounts take turns, and within an account its apps. */
  #nextGroup(mayCallForPast: boolean) {
    const group =
      this.#readyGroups.take(({ ofBlock }) => !ofBlock.isPast) ??
      (mayCallForPast ? this.#readyGroups.take() : undefined);
    if (group === undefined) return undefined;
    const { ofBlock, way, app, entries } = group;
    for (const [key, open] of this.#openGroups) if (open === group) this.#openGroups.delete(key);
    ofBlock.apartCount -= entries.length;
    const batch = newBatch(ofBlock, way, app);
    batch.entries = entries.filter(ofBlock.makeFilter(batch));
    return { batch, ofBlock };
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
    this.#blockReads(batch.block, batch.avoid, ofBlock.isPast);
    this.#noteCostly(batch);
    const exhausted = countExhausted(batch.entries);
    for (const entry of batch.entries)
      this.#settle(entry, ofBlock, (exhausted.get(entry.read.contract) ?? 0) > 1);
    this.#evict();
    this.#pump();
  }

  /** Remembers, for the client app that called for them, the contracts whose reads were answered
   * with more gas. */
  #noteCostly({ way, app, entries }: Batch): void {
    if (app === undefined || way === 'caller') return;
    for (const { read, observation } of entries)
      if (observation?.some(({ ok }) => ok)) this.#costlyContracts.add(`${app.clientId}/${read.contract}`);
  }

  /** @param isOneOfMany whether other reads of its contract used up their gas in the same call */
  #settle(entry: Entry, ofBlock: BlockReads, isOneOfMany: boolean): void {
    const app = entry.batch?.app;
    entry.batch = undefined;
    if (entry.observation === undefined && entry.wantedBy.length === 0) {
      ofBlock.delete(entry);
      return;
    }
    if (entry.observation === undefined && this.#sendAgain(entry, { ofBlock, app }, isOneOfMany)) return;
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

  /** Returns whether the read is sent again: it was not tried, or its outcome is not final and
   * there is room for it. */
  #sendAgain(
    entry: Entry,
    { ofBlock, app }: { ofBlock: BlockReads; app: AppOwner | undefined },
    isOneOfMany: boolean,
  ): boolean {
    const { suspicion, way, wantedBy } = entry;
    if (suspicion === undefined && way === 'shared') {
      ofBlock.queue(entry);
      return true;
    }
    if (suspicion === undefined && way === 'isolated') {
      this.#join(entry, ofBlock, 'isolated', app ?? entry);
      return true;
    }
    const isToJoin =
      suspicion === undefined ? way === 'costly' : way === 'shared' && suspicion === 'gas' && isOneOfMany;
    if (isToJoin)
      for (const ticket of wantedBy)
        if (this.#joinCostly(entry, ofBlock, ticket, COSTLY_WINDOWS_MAX)) return true;
    if (way === 'isolated') return false;
    const isOfCaller = suspicion === 'caller' || (suspicion === undefined && way === 'caller');
    return isOfCaller ? this.#joinCaller(entry, ofBlock) : this.#isolate(entry, ofBlock, wantedBy);
  }

  #joinCostly(entry: Entry, ofBlock: BlockReads, app: AppOwner, windowsMax: number): boolean {
    const isOpen = this.#openGroups.has(keyOf(entry.read, ofBlock, 'costly', app));
    const waitMs = isOpen ? 0 : this.#options.costlyCalls.take(app.clientId, windowsMax);
    if (waitMs === undefined) return false;
    this.#join(entry, ofBlock, 'costly', app, waitMs);
    return true;
  }

  #joinCaller(entry: Entry, ofBlock: BlockReads): boolean {
    const { read, wantedBy } = entry;
    const open = wantedBy.find((app) => this.#openGroups.has(keyOf(read, ofBlock, 'caller', app)));
    const place = open ? { app: open, waitMs: 0 } : this.#takePlace(read, wantedBy);
    if (place === undefined) return false;
    this.#join(entry, ofBlock, 'caller', place.app, place.waitMs);
    return true;
  }

  #isolate(entry: Entry, ofBlock: BlockReads, askers: readonly Asker[]): boolean {
    const place = this.#takePlace(entry.read, askers);
    if (place === undefined) return false;
    const { app, waitMs } = place;
    entry.way = 'isolated';
    ofBlock.apartCount += 1;
    this.#later(waitMs, () => {
      ofBlock.apartCount -= 1;
      this.#join(entry, ofBlock, 'isolated', app);
    });
    return true;
  }

  /** Puts the read into the open group of its kind, or opens one, whose call may go out after
   * `waitMs`. */
  #join(entry: Entry, ofBlock: BlockReads, way: Group['way'], of: AppOwner, waitMs = 0): void {
    const app = { accountId: of.accountId, clientId: of.clientId };
    const key = keyOf(entry.read, ofBlock, way, app);
    const open = this.#openGroups.get(key);
    const group = open ?? { way, app, ofBlock, entries: [] };
    entry.way = way;
    group.entries.push(entry);
    ofBlock.apartCount += 1;
    if (group.entries.length >= READS_APART_MAX[way]) this.#openGroups.delete(key);
    else this.#openGroups.set(key, group);
    if (open === undefined) this.#later(waitMs, () => this.#readyGroups.push(app, group));
  }

  /** Takes the place and the slot of the first client app that asks for the read and still has
   * both. */
  #takePlace(
    read: Read,
    askers: readonly Asker[],
  ): { readonly app: AppOwner; readonly waitMs: number } | undefined {
    for (const app of askers) {
      const waitMs = app.isolatedReads.hasRoomFor(read)
        ? this.#options.isolatedReads.take(app.clientId)
        : undefined;
      if (waitMs === undefined) continue;
      app.isolatedReads.spend(read);
      return { app, waitMs };
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

/** Reads of single checks, reads of batches, and reads that are sent apart never share a call. */
type CallKind = 'shared' | 'batch' | 'apart';

/** The reads of one contract share a call; isolated ones share it whatever their contract. */
const keyOf = ({ contract }: Read, { name }: BlockReads, way: ReadWay, { clientId }: AppOwner): string =>
  `${name}/${way}/${clientId}/${way === 'isolated' ? '' : contract}`;
