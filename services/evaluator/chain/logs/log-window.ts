import type { Block } from '../blocks/block.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import type { TransferLog } from './transfer-log.ts';

/**
 * The logs of the last blocks that were read, so that a reorg shows which of them are gone.
 *
 * Every read goes from the block after the last one to the head. Three more things are read again:
 * - the last few blocks, because a node may announce a block before it has the block's logs;
 * - the whole window, when a header shows that a block that was read has been replaced;
 * - the same, when a log carries another block hash than the known one.
 */
export type LogWindow = {
  /** The first block that the window covers. */
  readonly since: number;
  /** The last block that was read. */
  readonly readTo: number;
  /** By number: the blocks whose hash is known. Others in the window had no logs, as far as is known. */
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
};

/** The blocks that the next read must cover. */
export type ReadPlan = {
  readonly from: number;
  readonly to: number;
  /** Whether blocks of the window were replaced, so that the answer takes the window's place. */
  readonly isReplaced: boolean;
};

/** The deepest reorg that is followed, in blocks: a deeper one leaves its members to the next sweep. */
export const REORG_BLOCKS_MAX = 128;
/** Blocks that each read covers again. */
export const TAIL_BLOCKS = 3;

const NO_TRANSFERS: ReadonlySet<string> = new Set();

const transferName = (contract: string, account: string): string => `${contract}/${account}`;

/** A window that has read nothing: the next read begins with the block after `readTo`. */
export const emptyWindow = (readTo: number): LogWindow => ({
  since: readTo + 1,
  readTo,
  blocks: new Map(),
});

/**
 * Whether the header of the last block read must be fetched to plan the next read: the head is more than one block
 * further, so its parent hash does not show whether that block was replaced.
 */
export function needsHeader({ readTo, blocks }: LogWindow, head: Block): boolean {
  return head.number > readTo + 1 && blocks.has(readTo) && !blocks.has(head.number - 1);
}

/** Whether a header shows that a block of the window was replaced. */
export function isReplacedBy({ blocks }: LogWindow, { number, hash, parentHash }: Block): boolean {
  const known = blocks.get(number);
  const parent = blocks.get(number - 1);
  return (known !== undefined && known.hash !== hash) || (parent !== undefined && parent.hash !== parentHash);
}

/**
 * Plans the next read; `undefined` if there is nothing to read. A head below the window's end comes from a node that
 * lags behind, unless the head is on another fork.
 */
export function planRead(
  window: LogWindow,
  head: Block,
  isReplaced: boolean,
  blocksMax: number,
): ReadPlan | undefined {
  if (isReplaced) {
    const isNear = head.number - window.since < 2 * REORG_BLOCKS_MAX;
    const to = isNear ? head.number : Math.min(head.number, window.readTo);
    return { from: Math.min(window.since, to), to, isReplaced };
  }
  if (head.number <= window.readTo) return undefined;
  const from = Math.max(window.since, window.readTo + 1 - TAIL_BLOCKS);
  return { from, to: Math.min(head.number, window.readTo + blocksMax), isReplaced };
}

/**
 * Applies the logs of a planned read.
 *
 * @throws RpcFailure `block-mismatch` if a log's block differs from the head, or from a block that was not replaced
 */
export function applyRead(
  window: LogWindow,
  plan: ReadPlan,
  head: Block,
  logs: readonly TransferLog[],
): { window: LogWindow; due: DueTransfer[] } {
  const read = blocksOf(logs);
  if (plan.to === head.number) {
    requireHash(read, head.number, head.hash);
    requireHash(read, head.number - 1, head.parentHash);
    read.set(head.number, { hash: head.hash, transfers: transfersAt(read, head.number) });
    if (head.number > plan.from)
      read.set(head.number - 1, { hash: head.parentHash, transfers: transfersAt(read, head.number - 1) });
  }
  const due = plan.isReplaced ? droppedTransfers(window, plan, head, read) : [];
  const blocks = new Map(plan.isReplaced ? blocksOutside(window, plan, head) : window.blocks);
  for (const [number, { hash, transfers }] of read) {
    const known = blocks.get(number);
    if (known !== undefined && known.hash !== hash) throw new RpcFailure('block-mismatch');
    const before = knownTransfers(window, number, hash);
    for (const name of transfers)
      if (!before.has(name)) due.push({ name, blockNumber: number, isDropped: false });
    blocks.set(number, {
      hash,
      transfers: known === undefined ? transfers : union(known.transfers, transfers),
    });
  }
  const readTo = plan.isReplaced ? plan.to : Math.max(window.readTo, plan.to);
  const since = Math.max(Math.min(window.since, plan.from), readTo + 1 - REORG_BLOCKS_MAX);
  for (const number of blocks.keys()) if (number < since) blocks.delete(number);
  return { window: { since, readTo, blocks }, due };
}

function blocksOf(logs: readonly TransferLog[]): Map<number, WindowBlock & { transfers: Set<string> }> {
  const blocks = new Map<number, WindowBlock & { transfers: Set<string> }>();
  for (const { blockNumber, blockHash, contract, accounts } of logs) {
    const block = blocks.get(blockNumber) ?? { hash: blockHash, transfers: new Set<string>() };
    blocks.set(blockNumber, block);
    for (const account of accounts) block.transfers.add(transferName(contract, account));
  }
  return blocks;
}

const transfersAt = (read: ReadonlyMap<number, { transfers: Set<string> }>, number: number): Set<string> =>
  read.get(number)?.transfers ?? new Set();

function requireHash(read: ReadonlyMap<number, WindowBlock>, number: number, hash: string): void {
  const block = read.get(number);
  if (block !== undefined && block.hash !== hash) throw new RpcFailure('block-mismatch');
}

/** The transfers of a block that are known already; none if its number had another hash. */
function knownTransfers({ blocks }: LogWindow, number: number, hash: string): ReadonlySet<string> {
  const known = blocks.get(number);
  return known?.hash === hash ? known.transfers : NO_TRANSFERS;
}

/** The blocks of the window outside of a replaced range. */
function blocksOutside(window: LogWindow, plan: ReadPlan, head: Block): [number, WindowBlock][] {
  const isGone = (number: number) => number >= plan.from && (number <= plan.to || plan.to === head.number);
  return [...window.blocks].filter(([number]) => !isGone(number));
}

/** The transfers of the window that a replaced range no longer holds, with the first block that is gone. */
function droppedTransfers(
  window: LogWindow,
  plan: ReadPlan,
  head: Block,
  read: ReadonlyMap<number, WindowBlock>,
): DueTransfer[] {
  const outside = new Map(blocksOutside(window, plan, head));
  const names = new Set<string>();
  let firstGone = Number.POSITIVE_INFINITY;
  for (const [number, { hash, transfers }] of window.blocks) {
    if (outside.has(number)) continue;
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

const union = (one: ReadonlySet<string>, other: ReadonlySet<string>): ReadonlySet<string> =>
  other.size === 0 ? one : new Set([...one, ...other]);
