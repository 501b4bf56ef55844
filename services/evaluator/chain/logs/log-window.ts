import type { Block } from '../blocks/block.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import type { TransferLog } from './transfer-log.ts';

/**
 * The logs of the last blocks that were read, so that a reorg shows which of them are gone.
 *
 * Every read goes to the head. Three things are read again:
 * - each block, 15 s after it was read first or later, because a node may announce a block, or one
 *   node a block that another one answers for, seconds before its logs are there. Only then is it
 *   settled;
 * - the whole window, when a header shows that a block that was read has been replaced;
 * - the same, when a log carries another block hash than the known one.
 */
export type LogWindow = {
  /** The first block that the window covers. */
  readonly since: number;
  /** The last settled block. */
  readonly settledTo: number;
  /** The last block that was read. */
  readonly readTo: number;
  /** By number: the blocks whose hash is known. Others in the window had no logs, as far as is
   * known. */
  readonly blocks: ReadonlyMap<number, WindowBlock>;
};

export type WindowBlock = {
  readonly hash: string;
  /** `contract/account` of each transfer. */
  readonly transfers: ReadonlySet<string>;
};

/** A transfer whose accounts may have other balances now. */
export type DueTransfer = {
  /** `contract/account`. */
  readonly name: string;
  /** The event's block; of a dropped event the first block that is gone. */
  readonly blockNumber: number;
  /** A reorg took the event away. */
  readonly isDropped: boolean;
  /** Of an event that is there: the newest of its name in the block. */
  readonly event?: TransferEvent | undefined;
};

/** Which event a transfer is. */
export type TransferEvent = { readonly transactionHash: string; readonly logIndex: number };

/** The blocks that the next read must cover. */
export type ReadPlan = {
  readonly from: number;
  readonly to: number;
  /** Whether blocks of the window were replaced, so that the answer takes the window's place. */
  readonly isReplaced: boolean;
};

/** The deepest reorg that is followed, in blocks: a deeper one leaves its members to the next
 * sweep. */
export const REORG_BLOCKS_MAX = 128;
/** Blocks that are not settled may wait behind new ones up to this number; then they come first. */
const UNSETTLED_BLOCKS_MAX = 2_000;
/** A block that is so much older than the head, in seconds, is settled by its first read. */
const OLD_S = 30;

const NO_TRANSFERS: ReadonlySet<string> = new Set();

const transferName = (contract: string, account: string): string => `${contract}/${account}`;

/** A window that has read nothing: the next read begins with the block after `readTo`. */
export const emptyWindow = (readTo: number): LogWindow => ({
  since: readTo + 1,
  settledTo: readTo,
  readTo,
  blocks: new Map(),
});

/**
 * Whether the header of the last block read must be fetched to plan the next read: the head is more
 * than one block further, so its parent hash does not show whether that block was replaced.
 */
export function needsHeader({ readTo, blocks }: LogWindow, head: Block): boolean {
  return head.number > readTo + 1 && blocks.has(readTo);
}

/** Whether a header shows that a block of the window was replaced. */
export function isReplacedBy({ blocks }: LogWindow, { number, hash, parentHash }: Block): boolean {
  const known = blocks.get(number);
  const parent = blocks.get(number - 1);
  return (known !== undefined && known.hash !== hash) || (parent !== undefined && parent.hash !== parentHash);
}

/** The inputs of a read's plan, beside the window and the head. */
type PlanOptions = {
  /** Whether blocks of the window were replaced. */
  readonly isReplaced: boolean;
  /** New blocks of one read. */
  readonly blocksMax: number;
  /** Blocks of one call: more cost further calls. */
  readonly blocksPerCall: number;
  /** The last block whose first read is long enough ago to settle it by another one. */
  readonly settleTo: number;
};

/**
 * Plans the next read; `undefined` if there is nothing to read. A head below the window's end comes
 * from a node that lags behind, unless the head is on another fork. The unsettled blocks are read
 * together with the new ones if one call is enough for both.
 */
export function planRead(
  window: LogWindow,
  head: Block,
  { isReplaced, blocksMax, blocksPerCall, settleTo }: PlanOptions,
): ReadPlan | undefined {
  const { since, settledTo, readTo } = window;
  if (isReplaced) {
    const isNear = head.number - since < 2 * REORG_BLOCKS_MAX;
    const to = isNear ? head.number : Math.min(head.number, readTo);
    return { from: Math.min(since, to), to, isReplaced };
  }
  const tailFrom = Math.max(since, settledTo + 1);
  const dueTo = Math.min(settleTo, head.number, readTo, settledTo + blocksMax);
  const due = dueTo > settledTo ? { from: tailFrom, to: dueTo, isReplaced } : undefined;
  if (head.number <= readTo) return due;
  const to = Math.min(head.number, readTo + blocksMax);
  if (to - tailFrom < Math.min(blocksPerCall, blocksMax)) return { from: tailFrom, to, isReplaced };
  const isDueFirst = due !== undefined && readTo - settledTo > UNSETTLED_BLOCKS_MAX;
  return isDueFirst ? due : { from: readTo + 1, to, isReplaced };
}

/**
 * Applies the logs of a planned read. If blocks were replaced, every block of the window counts as
 * dropped unless the answer has it with the same hash: also one above the answer, which an endpoint
 * that is behind does not have yet. Its transfers are due again, as new ones, once it is read.
 *
 * @param last the header of the last block that was read, from the endpoint that gave the logs; it
 *   may be below the plan's end if no endpoint has all of the plan's blocks yet
 * @param settleTo as in `planRead`, when the read began
 * @throws RpcFailure `block-mismatch` if a log's block differs from that header or the head, or
 *   from a block that was not replaced
 */
export function applyRead(
  window: LogWindow,
  { from, isReplaced }: ReadPlan,
  head: Block,
  { last, logs }: { readonly last: Block; readonly logs: readonly TransferLog[] },
  settleTo: number,
): { window: LogWindow; due: DueTransfer[]; forkFrom: number | undefined } {
  const to = last.number;
  const read = blocksOf(logs);
  for (const [number, hash] of [[to, last.hash] as const, [to - 1, last.parentHash] as const]) {
    if (number < from) continue;
    requireHash(read, number, hash);
    if (!read.has(number)) read.set(number, { hash, transfers: new Set(), events: new Map() });
  }
  if (to === head.number) requireHash(read, to, head.hash);
  const due = isReplaced ? droppedTransfers(window, read) : [];
  const blocks = new Map(isReplaced ? [] : window.blocks);
  for (const [number, { hash, transfers, events }] of read) {
    const known = blocks.get(number);
    if (known !== undefined && known.hash !== hash) throw new RpcFailure('block-mismatch');
    const before = knownTransfers(window, number, hash);
    for (const name of transfers)
      if (!before.has(name))
        due.push({ name, blockNumber: number, isDropped: false, event: events.get(name) });
    blocks.set(number, {
      hash,
      transfers: known === undefined ? transfers : union(known.transfers, transfers),
    });
  }
  const readTo = isReplaced ? to : Math.max(window.readTo, to);
  const settledTo = settledAfter(window, { from, to, isReplaced }, head, last, settleTo);
  const since = Math.max(
    Math.min(window.since, from),
    Math.min(settledTo + 1, readTo + 1 - REORG_BLOCKS_MAX),
  );
  for (const number of blocks.keys()) if (number < since) blocks.delete(number);
  const forkFrom = isReplaced ? firstReplaced(window, read) : undefined;
  return { window: { since, settledTo, readTo, blocks }, due, forkFrom };
}

function settledAfter(
  { settledTo }: LogWindow,
  { from, to, isReplaced }: ReadPlan,
  head: Block,
  last: Block,
  settleTo: number,
): number {
  // What was settled of another fork says nothing about the blocks of this one, also beyond `to`.
  const before = isReplaced ? Math.min(settledTo, from - 1) : settledTo;
  if (from > before + 1) return before;
  if (head.timestamp - last.timestamp >= OLD_S) return Math.max(before, to);
  return isReplaced ? before : Math.max(before, Math.min(to, settleTo));
}

type ReadBlock = WindowBlock & {
  readonly transfers: Set<string>;
  /** By name. */
  readonly events: Map<string, TransferEvent>;
};

function blocksOf(logs: readonly TransferLog[]): Map<number, ReadBlock> {
  const blocks = new Map<number, ReadBlock>();
  for (const { blockNumber, blockHash, contract, accounts, transactionHash, logIndex } of logs) {
    const block = blocks.get(blockNumber) ?? { hash: blockHash, transfers: new Set(), events: new Map() };
    blocks.set(blockNumber, block);
    for (const account of accounts) {
      const name = transferName(contract, account);
      block.transfers.add(name);
      if (logIndex === undefined || transactionHash === undefined) continue;
      if (logIndex > (block.events.get(name)?.logIndex ?? -1))
        block.events.set(name, { transactionHash, logIndex });
    }
  }
  return blocks;
}

function requireHash(read: ReadonlyMap<number, WindowBlock>, number: number, hash: string): void {
  const block = read.get(number);
  if (block !== undefined && block.hash !== hash) throw new RpcFailure('block-mismatch');
}

/** The transfers of a block that are known already; none if its number had another hash. */
function knownTransfers({ blocks }: LogWindow, number: number, hash: string): ReadonlySet<string> {
  const known = blocks.get(number);
  return known?.hash === hash ? known.transfers : NO_TRANSFERS;
}

/** The transfers of a replaced window that are gone, with the first block that had one. */
function droppedTransfers({ blocks }: LogWindow, read: ReadonlyMap<number, WindowBlock>): DueTransfer[] {
  const names = new Set<string>();
  let firstGone = Number.POSITIVE_INFINITY;
  for (const [number, { hash, transfers }] of blocks) {
    const block = read.get(number);
    const remaining = block?.hash === hash ? block.transfers : NO_TRANSFERS;
    for (const name of transfers) {
      if (remaining.has(name)) continue;
      names.add(name);
      firstGone = Math.min(firstGone, number);
    }
  }
  return [...names].map((name) => ({ name, blockNumber: firstGone, isDropped: true }));
}

/** The first block of a replaced window that may be of a dropped fork: behind the last one that is
 * known to be the same. `undefined`: none was dropped. */
function firstReplaced(
  { since, blocks }: LogWindow,
  read: ReadonlyMap<number, WindowBlock>,
): number | undefined {
  const numbers = [...blocks.keys()];
  const isSame = (number: number): boolean => read.get(number)?.hash === blocks.get(number)?.hash;
  const same = Math.max(since - 1, ...numbers.filter(isSame));
  return numbers.some((number) => number > same) ? same + 1 : undefined;
}

const union = (one: ReadonlySet<string>, other: ReadonlySet<string>): ReadonlySet<string> =>
  other.size === 0 ? one : new Set([...one, ...other]);
