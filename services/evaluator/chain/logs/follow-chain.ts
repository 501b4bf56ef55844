import type { Block } from '../blocks/block.ts';
import type { BlockTime } from '../endpoints/block-time.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import { startTimeLimit } from '../rpc/time-limit.ts';
import {
  applyRead,
  type DueTransfer,
  emptyWindow,
  isReplacedBy,
  type LogWindow,
  needsHeader,
  planRead,
  REORG_BLOCKS_MAX,
  type ReadPlan,
  type TransferEvent,
} from './log-window.ts';
import { busiestOf, type LogReader, TooManyLogs, TooManyTransfers } from './read-logs.ts';
import { SavedWindow, type SavedWindowOptions } from './saved-window.ts';
import type { TransferLog } from './transfer-log.ts';

/** A transfer that names a watched account; without `account`: events of the contract may have been
 * missed. */
export type Transferred = {
  readonly contract: string;
  readonly account: string | undefined;
  readonly blockNumber: number;
  readonly isDropped: boolean;
  readonly event?: TransferEvent | undefined;
};

/** How a contract is followed; the reason in plain words. */
export type ContractState =
  | { readonly state: 'live' }
  | { readonly state: 'sweeps-only'; readonly reason: string };

export type FollowerOptions = SavedWindowOptions & {
  readonly blockTime: Pick<BlockTime, 'ms' | 'blocksIn'>;
  /** @param gone heads whose logs no endpoint had: another endpoint is asked */
  readonly readHead: (signal: AbortSignal, gone: readonly Block[]) => Promise<Block>;
  readonly logs: Pick<LogReader, 'read' | 'readHeader' | 'blocksMax' | 'blocksPerCall'>;
  /** Which of the accounts belong to a member of a watch. */
  readonly watchedAmong: (accounts: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Resolves when the broker has acknowledged all. */
  readonly publish: (transfers: readonly Transferred[]) => Promise<void>;
  readonly setStates: (contracts: readonly string[], state: ContractState) => Promise<void>;
  /** Notes that it is about to ask who is watched in the blocks up to this one; `false` if another
   * process follows the chain now. */
  readonly noteReading: (to: number) => Promise<boolean>;
  /** Notes that it has the logs up to the head, or knows that the chain serves none. */
  readonly noteRead: () => Promise<void>;
  /** Notes a reorg by the first block that it dropped; `false` as above. */
  readonly noteFork: (from: number) => Promise<boolean>;
  readonly observer: FollowerObserver;
  readonly monotonicMs: () => number;
};

export type FollowerObserver = {
  readonly onRead: (result: 'ok' | FailureKind, logCount: number) => void;
  readonly onReorg: () => void;
  /** Blocks were skipped: the members of `contractCount` contracts are due without an event. */
  readonly onGap: (contractCount: number) => void;
  readonly onBehind: (blockCount: number) => void;
  /** Redis or the broker failed, or a bug. */
  readonly onError: (error: unknown) => void;
};

/** Time limit of one read; blocks that were read before it are kept. */
const READ_MS_MAX = 30_000;
/** A position older than this is given up: the members of all contracts are due instead. */
const CATCH_UP_MS_MAX = 3_600_000;
const CATCH_UP_BLOCKS_MAX = 20_000;
/** Failures in a row from which a chain's contracts are no longer `live`. */
const FAILURES_MAX = 3;
/** After this many consecutive heads that are further below the position than a reorg reaches, the
 * chain counts as restarted, such as a development chain, or the position as that of a false head. */
const LOW_HEADS_MAX = 10;
/** A position that no head has reached for so long, though heads are newer, is that of a false head,
 * or its blocks are gone. */
const ABOVE_MS_MAX = 15_000;
/** A contract with more transfers than this is not followed for `BUSY_MS`, then tried again. */
const TRANSFERS_PER_SECOND_MAX = 500;
const BUSY_MS = 30_000;
/** A contract with at most this many transfers in a read never counts as busy, however short the
 * read. */
const TRANSFERS_MIN = 5_000;
/** Attempts of one step; each leaves out one more busy contract. */
const ATTEMPTS_MAX = 10;

/** A block is settled by a read that begins so long after its first one. */
const SETTLE_MS = 15_000;
/** How often it is noted that the logs were read up to the head. */
const NOTE_READ_MS = 10_000;
/** Logs that are further behind the head than this are not `live`. */
const BEHIND_MS_MAX = 15_000;

const LIVE: ContractState = { state: 'live' };

const sweepsOnly = (reason: string): ContractState => ({ state: 'sweeps-only', reason });

const BEHIND = sweepsOnly(
  'The endpoints of the chain have the logs of a block more than 15 s after the block.',
);
const CATCHING_UP = sweepsOnly('The reader of logs is catching up with the chain.');
const TOO_BUSY = sweepsOnly(
  `The contract has more than ${TRANSFERS_PER_SECOND_MAX} transfers per second, or too many for one read.`,
);

const REASONS: Partial<Record<FailureKind, string>> = {
  'method-unsupported': 'No endpoint of the chain serves eth_getLogs.',
  'too-many-logs': 'The newest blocks have more logs than one read may return.',
  'chain-stale': 'The newest block of the chain is too old.',
  'too-few-headers': 'Fewer endpoints of the chain than its quorum give the same newest block.',
  'rate-limited': 'The endpoints of the chain are rate-limited.',
  'over-rate': 'The endpoints of the chain are rate-limited.',
  'block-unavailable': 'No endpoint of the chain has the logs of the newest blocks yet.',
  timeout: 'No endpoint of the chain answered eth_getLogs in time.',
  malformed: 'No endpoint of the chain gave a correct answer to eth_getLogs.',
  'block-mismatch': 'The endpoints of the chain are on different forks.',
};
const REASON = 'No endpoint of the chain answered eth_getLogs.';
const NOT_RPC = 'Transfers cannot be published, because Redis or the broker does not answer.';

/**
 * Follows the transfers of the watched contracts of one chain.
 *
 * A step reads from where the last one ended to the head and publishes the transfers that name a
 * watched account. The position moves only after the broker has acknowledged them, so a process
 * that dies in between publishes them again.
 */
export class ChainFollower {
  readonly #options: FollowerOptions;
  readonly #saved: SavedWindow;
  /** A log contradicted the window: it is read again as a whole. */
  #mustReread = false;
  #notedReadAtMs = Number.NEGATIVE_INFINITY;
  #failureCount = 0;
  /** The endpoints have answered with the head in this step. */
  #hasHead = false;
  /** Consecutive heads that are further below the position than a reorg reaches. */
  #lowHeadCount = 0;
  /** Since when each head is below the position; `undefined`: the last one is not. */
  #aboveSinceMs: number | undefined;
  /** The timestamp of the last head that was not. */
  #reachedTimestamp: number | undefined;
  /** The head whose logs no endpoint had. */
  #gone: readonly Block[] = [];
  /** Busy contracts, and until when each is not followed (monotonic ms). */
  readonly #busyUntilMs = new Map<string, number>();
  /** Up to which block was read, and when, for blocks that are not settled; the oldest first. */
  #firstReads: { readonly readTo: number; readonly atMs: number }[] = [];
  /** Contracts whose transfers were not read for some blocks, and whose members have not been
   * declared due yet. */
  readonly #gaps = new Set<string>();

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#saved = new SavedWindow(options);
  }

  /**
   * Reads the new blocks. Never throws: a failure is in the contracts' states, and the next step
   * begins where the last complete read ended.
   *
   * @returns `ok`, `failed`, or `lost` if another process follows the chain now
   */
  async step(contracts: readonly string[], signal: AbortSignal): Promise<'ok' | 'failed' | 'lost'> {
    for (const contract of this.#gaps) if (!contracts.includes(contract)) this.#gaps.delete(contract);
    for (let attempt = 1; ; attempt += 1) {
      const followed = contracts.filter((contract) => !this.#isBusy(contract)).toSorted();
      try {
        const isMine =
          followed.length === 0
            ? await this.#readHeadAlone(signal)
            : await this.#readToHead(followed, signal);
        this.#failureCount = 0;
        return isMine ? 'ok' : 'lost';
      } catch (error) {
        if (signal.aborted) return 'failed';
        // The other contracts are read at once, without the contract that has too many transfers.
        const isRetried = error instanceof TooManyTransfers && attempt < ATTEMPTS_MAX;
        await this.#noteFailure(error, followed, isRetried).catch(() => undefined);
        if (!isRetried) return 'failed';
      }
    }
  }

  async #readToHead(contracts: readonly string[], signal: AbortSignal): Promise<boolean> {
    const head = await this.#readHead(signal);
    const { window: opened, isFresh } = await this.#openWindow(head, contracts);
    let window = opened;
    const hasNewFork = await this.#isReplaced(window, head, signal);
    if (hasNewFork) this.#options.observer.onReorg();
    let isReplaced = hasNewFork || this.#mustReread || this.#isAboveForLong(window, head);
    const { blockTime } = this.#options;
    for (;;) {
      const plan = this.#plan(window, head, isReplaced);
      if (plan === undefined) break;
      const read = await this.#read(window, plan, head, contracts, signal);
      this.#mustReread = false;
      isReplaced = false;
      // Not before: a head whose logs no endpoint has gives up no position.
      if (isFresh) for (const contract of contracts) this.#gaps.add(contract);
      // Before the transfers: their checks must not be answered by the dropped fork.
      if (read.forkFrom !== undefined && !(await this.#options.noteFork(read.forkFrom))) return false;
      if (!(await this.#publishDue(read.window, read.due))) return false;
      window = read.window;
      this.#noteFirstRead(window);
      // The endpoints do not have the rest yet.
      if (read.to < plan.to) break;
      if (window.readTo < head.number) await this.#options.setStates(contracts, CATCHING_UP);
    }
    if (!(await this.#publishGaps(contracts, window, head))) return false;
    const isBehind = head.number - window.readTo > blockTime.blocksIn(BEHIND_MS_MAX);
    await this.#options.setStates(contracts, isBehind ? BEHIND : LIVE);
    if (!isBehind) await this.#noteRead();
    return true;
  }

  /** Every contract has too many transfers: their watches rely on sweeps, and are not blind. */
  async #readHeadAlone(signal: AbortSignal): Promise<true> {
    await this.#readHead(signal);
    await this.#noteRead();
    return true;
  }

  async #readHead(signal: AbortSignal): Promise<Block> {
    this.#hasHead = false;
    const head = await this.#options.readHead(signal, this.#gone);
    this.#gone = [];
    this.#hasHead = true;
    return head;
  }

  async #noteRead(): Promise<void> {
    const nowMs = this.#options.monotonicMs();
    if (nowMs - this.#notedReadAtMs < NOTE_READ_MS) return;
    await this.#options.noteRead();
    this.#notedReadAtMs = nowMs;
  }

  #plan(window: LogWindow, head: Block, isReplaced: boolean): ReadPlan | undefined {
    const { blocksMax, blocksPerCall } = this.#options.logs;
    return planRead(window, head, { isReplaced, blocksMax, blocksPerCall, settleTo: this.#settleTo });
  }

  /** The last block whose first read was long enough ago that the next one settles it. */
  get #settleTo(): number {
    const nowMs = this.#options.monotonicMs();
    return this.#firstReads.findLast(({ atMs }) => nowMs - atMs >= SETTLE_MS)?.readTo ?? -1;
  }

  #noteFirstRead({ settledTo, readTo }: LogWindow): void {
    const isOpen = (each: { readTo: number }) => each.readTo > settledTo && each.readTo <= readTo;
    this.#firstReads = this.#firstReads.filter(isOpen);
    if ((this.#firstReads.at(-1)?.readTo ?? settledTo) < readTo)
      this.#firstReads.push({ readTo, atMs: this.#options.monotonicMs() });
  }

  /**
   * Where to continue: at the saved position. Without a usable one, afresh some blocks below the
   * head, and the events before that are a gap: they may have been missed.
   */
  async #openWindow(
    head: Block,
    contracts: readonly string[],
  ): Promise<{ window: LogWindow; isFresh: boolean }> {
    // From block 0 on, so that there is always a block to read.
    const fresh = emptyWindow(Math.max(-1, head.number - REORG_BLOCKS_MAX));
    const saved = await this.#saved.load();
    for (const contract of saved?.gaps ?? []) if (contracts.includes(contract)) this.#gaps.add(contract);
    const window = saved?.window ?? fresh;
    this.#options.observer.onBehind(Math.max(0, head.number - window.readTo));
    const isLow = head.number < window.readTo - REORG_BLOCKS_MAX;
    this.#lowHeadCount = isLow ? this.#lowHeadCount + 1 : 0;
    const isRestarted = this.#lowHeadCount > LOW_HEADS_MAX;
    if (isRestarted) await this.#options.noteFork(0);
    const isFresh =
      saved === undefined || isRestarted || head.number - window.readTo > this.#catchUpBlocksMax;
    return { window: isFresh ? fresh : window, isFresh };
  }

  get #catchUpBlocksMax(): number {
    const blocks = this.#options.blockTime.blocksIn(CATCH_UP_MS_MAX);
    return Math.min(CATCH_UP_BLOCKS_MAX, Math.max(blocks, 2 * REORG_BLOCKS_MAX));
  }

  #isAboveForLong({ readTo }: LogWindow, head: Block): boolean {
    if (head.number >= readTo) {
      this.#aboveSinceMs = undefined;
      this.#reachedTimestamp = head.timestamp;
      return false;
    }
    const nowMs = this.#options.monotonicMs();
    this.#aboveSinceMs ??= nowMs;
    // An endpoint that is stuck or behind, and the only one that answers, has dropped no block.
    if (head.timestamp <= (this.#reachedTimestamp ?? -1)) return false;
    // Further below, the window does not reach back to the blocks that were passed over.
    return nowMs - this.#aboveSinceMs > ABOVE_MS_MAX && head.number >= readTo - REORG_BLOCKS_MAX;
  }

  async #isReplaced(window: LogWindow, head: Block, signal: AbortSignal): Promise<boolean> {
    if (isReplacedBy(window, head)) return true;
    if (!needsHeader(window, head)) return false;
    return isReplacedBy(window, await this.#options.logs.readHeader(window.readTo, head, signal));
  }

  async #read(
    window: LogWindow,
    plan: ReadPlan,
    head: Block,
    contracts: readonly string[],
    signal: AbortSignal,
  ): Promise<ReturnType<typeof applyRead> & { to: number }> {
    const range = { fromBlock: plan.from, toBlock: plan.to, contracts };
    const limit = startTimeLimit(READ_MS_MAX, signal);
    const settleTo = this.#settleTo;
    const read = await this.#options.logs
      .read(range, head, limit.signal)
      .catch((error: unknown) => {
        if (error instanceof RpcFailure && error.kind === 'block-unavailable') this.#gone = [head];
        throw withoutBusiest(error, plan, this.#plan(window, head, plan.isReplaced));
      })
      .finally(limit.end);
    this.#refuseBusy(read.logs, plan);
    try {
      const applied = applyRead(window, plan, head, read, settleTo);
      this.#options.observer.onRead('ok', read.logs.length);
      // The blocks of another fork are read for the first time.
      if (plan.isReplaced) this.#firstReads = [];
      return { ...applied, to: read.last.number };
    } catch (error) {
      // Either the chain changed between the two requests, or a reorg was missed: the next step
      // reads the whole window again.
      this.#mustReread = true;
      throw error;
    }
  }

  #refuseBusy(logs: readonly TransferLog[], { from, to }: ReadPlan): void {
    const seconds = ((to - from + 1) * this.#options.blockTime.ms) / 1_000;
    const countMax = Math.max(TRANSFERS_MIN, TRANSFERS_PER_SECOND_MAX * seconds);
    const busiest = logs.length <= countMax ? undefined : busiestOf(logs);
    if (busiest !== undefined && busiest.count > countMax) throw new TooManyTransfers(busiest.contract);
  }

  /** Publishes the due transfers of watched accounts, then saves the position. */
  async #publishDue(window: LogWindow, due: readonly DueTransfer[]): Promise<boolean> {
    const parsed = due.map((transfer) => ({ ...transfer, ...parseName(transfer.name) }));
    const accounts = [...new Set(parsed.map(({ account }) => account))];
    if (accounts.length > 0 && !(await this.#options.noteReading(window.readTo))) return false;
    const watched = accounts.length === 0 ? new Set() : await this.#options.watchedAmong(accounts);
    const relevant = parsed.filter(({ account }) => watched.has(account));
    await this.#options.publish(relevant.map(({ name: _, ...transfer }) => transfer));
    return this.#saved.save(window, new Set(relevant.map(({ name }) => name)), this.#gaps);
  }

  /** Publishes which contracts' events were missed, once their transfers are read again. */
  async #publishGaps(contracts: readonly string[], window: LogWindow, head: Block): Promise<boolean> {
    const gaps = contracts.filter((contract) => this.#gaps.has(contract));
    if (gaps.length === 0) return true;
    this.#options.observer.onGap(gaps.length);
    const gap = {
      account: undefined,
      blockNumber: head.number,
      isDropped: false,
    };
    await this.#options.publish(gaps.map((contract) => ({ contract, ...gap })));
    for (const contract of gaps) this.#gaps.delete(contract);
    return this.#saved.save(window, new Set(), this.#gaps);
  }

  #isBusy(contract: string): boolean {
    const untilMs = this.#busyUntilMs.get(contract);
    if (untilMs === undefined) return false;
    if (this.#options.monotonicMs() < untilMs) return true;
    this.#busyUntilMs.delete(contract);
    return false;
  }

  async #noteFailure(error: unknown, contracts: readonly string[], isRetried: boolean): Promise<void> {
    const { observer } = this.#options;
    if (error instanceof RpcFailure) observer.onRead(error.kind, 0);
    else observer.onError(error);
    if (error instanceof TooManyTransfers) {
      this.#busyUntilMs.set(error.contract, this.#options.monotonicMs() + BUSY_MS);
      this.#gaps.add(error.contract);
      await this.#options.setStates([error.contract], TOO_BUSY);
    }
    if (isRetried) return;
    this.#failureCount += 1;
    if (this.#failureCount < FAILURES_MAX) return;
    await this.#options.setStates(contracts, stateOfFailure(error));
    // The chain can be read, its logs cannot: as above.
    if (this.#hasHead && isWithoutLogs(error)) await this.#noteRead();
  }
}

/**
 * The failure of a read. A read with too many logs is planned smaller the next time; one that would
 * be planned as large again, such as that of a replaced window, would fail for ever, so the
 * contract with the most logs is left out.
 */
function withoutBusiest(error: unknown, plan: ReadPlan, next: ReadPlan | undefined): unknown {
  if (!(error instanceof TooManyLogs) || error.contract === undefined) return error;
  const isSmaller = next !== undefined && next.to - next.from < plan.to - plan.from;
  return isSmaller ? error : new TooManyTransfers(error.contract);
}

/** Whether the endpoints answer, and refuse to serve the logs. */
const isWithoutLogs = (error: unknown): boolean =>
  error instanceof RpcFailure &&
  (error.isRefusal || error.kind === 'method-unsupported' || error.kind === 'too-many-logs');

const parseName = (name: string): { contract: string; account: string } => {
  const [contract = '', account = ''] = name.split('/');
  return { contract, account };
};

/** The state of contracts whose logs could not be read: a known reason, or else the endpoint's own
 * words. */
function stateOfFailure(error: unknown): ContractState {
  if (!(error instanceof RpcFailure)) return sweepsOnly(NOT_RPC);
  const { kind, words } = error;
  const said =
    words === undefined ? REASON : `No endpoint of the chain returns the logs; the last one said: ${words}`;
  return sweepsOnly(REASONS[kind] ?? said);
}
