import fc from 'fast-check';
import type { Block } from '../blocks/block.ts';
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
} from './log-window.ts';
import type { TransferLog } from './transfer-log.ts';

const CONTRACT = `0x${'c0'.repeat(20)}`;
const accountOf = (n: number) => `0x${n.toString(16).padStart(40, '0')}`;
const nameOf = (n: number) => `${CONTRACT}/${accountOf(n)}`;

type TestBlock = Block & { readonly accounts: readonly number[] };

/** A chain that can be rolled back, and the reads of one follower. */
class TestChain {
  readonly blocks: TestBlock[] = [];
  #made = 0;

  constructor() {
    this.mine([]);
  }

  mine(accounts: readonly number[]): void {
    this.#made += 1;
    const parentHash = this.blocks.at(-1)?.hash ?? '0x00';
    const number = this.blocks.length;
    this.blocks.push({ number, hash: `0x${this.#made.toString(16)}`, parentHash, timestamp: 0, accounts });
  }

  dropLast(count: number): void {
    this.blocks.splice(Math.max(1, this.blocks.length - count));
  }

  get head(): TestBlock {
    return this.blocks.at(-1) as TestBlock;
  }

  logs(from: number, to: number): TransferLog[] {
    return this.blocks.slice(from, to + 1).flatMap(({ number, hash, accounts }) =>
      accounts.map((account) => ({
        position: `0x${account}`,
        contract: CONTRACT,
        blockNumber: number,
        blockHash: hash,
        accounts: [accountOf(account)],
      })),
    );
  }

  /** The state behind a balance at a block: the blocks of all transfers of the account. */
  balanceOf(account: number, at: number): string {
    return this.blocks
      .filter(({ number, accounts }) => number <= at && accounts.includes(account))
      .map(({ hash }) => hash)
      .join();
  }
}

/** One poll as the follower does it, with an answer that may lack logs or all of the newest
 * blocks. */
function poll(
  window: LogWindow,
  chain: TestChain,
  {
    blocksMax = 1_000,
    blocksPerCall = 1_000,
    withoutFrom = Number.POSITIVE_INFINITY,
    endsAt = Number.POSITIVE_INFINITY,
    settleTo = -1,
  } = {},
): { window: LogWindow; due: DueTransfer[]; plan?: ReadPlan; forkFrom?: number | undefined } {
  const { head } = chain;
  const header = needsHeader(window, head) ? chain.blocks[window.readTo] : undefined;
  const isReplaced = isReplacedBy(window, head) || (header !== undefined && isReplacedBy(window, header));
  const plan = planRead(window, head, { isReplaced, blocksMax, blocksPerCall, settleTo });
  if (plan === undefined || endsAt < plan.from) return { window, due: [] };
  const last = chain.blocks[Math.min(plan.to, endsAt)] as TestBlock;
  const logs = chain.logs(plan.from, last.number).filter(({ blockNumber }) => blockNumber < withoutFrom);
  return { ...applyRead(window, plan, head, { last, logs }, settleTo), plan };
}

const ACCOUNTS = [1, 2, 3, 4];
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ mine: fc.array(fc.constantFrom(...ACCOUNTS), { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ reorg: fc.integer({ min: 1, max: 9 }), seed: fc.nat() }) },
  { weight: 4, arbitrary: fc.record({ missing: fc.integer({ min: 0, max: 4 }) }) },
);

test('every account whose transfers changed is due, through any schedule of blocks, reorgs and polls of endpoints that may miss the newest blocks', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const chain = new TestChain();
      let window = emptyWindow(0);
      // The knowledge of a naive client, which reads the balance of an account each time that it is
      // due, at the last block that was read.
      const known = new Map(ACCOUNTS.map((account) => [account, '']));
      for (const each of steps) {
        if ('mine' in each) chain.mine(each.mine);
        else if ('reorg' in each) {
          const { length } = chain.blocks;
          chain.dropLast(each.reorg);
          // A fork wins by its length.
          while (chain.blocks.length <= length)
            chain.mine(((each.seed >> chain.blocks.length) & 1) === 1 ? [1] : []);
        } else {
          const dropped = [...window.blocks].filter(
            ([number, { hash }]) => chain.blocks[number]?.hash !== hash,
          );
          const polled = poll(window, chain, { endsAt: chain.head.number - each.missing });
          // The endpoint has no block of the plan yet.
          if (polled.plan === undefined) continue;
          window = polled.window;
          for (const [number] of dropped) expect(polled.forkFrom).toBeLessThanOrEqual(number);
          for (const account of ACCOUNTS) {
            const balance = chain.balanceOf(account, window.readTo);
            if (polled.due.some(({ name }) => name === nameOf(account))) known.set(account, balance);
            expect(known.get(account)).toBe(balance);
          }
        }
      }
    }),
    { numRuns: 500 },
  );
});

test('a transfer is due once, however often its block is read', () => {
  const chain = new TestChain();
  let window = emptyWindow(0);
  const due: DueTransfer[] = [];
  for (let number = 1; number <= 10; number += 1) {
    chain.mine(number === 2 ? [1] : []);
    const polled = poll(window, chain);
    window = polled.window;
    due.push(...polled.due);
  }
  expect(due).toEqual([{ name: nameOf(1), blockNumber: 2, isDropped: false }]);
});

test('logs that came late are found by the read that settles their block, whatever the number of blocks meanwhile', () => {
  const chain = new TestChain();
  chain.mine([1]);
  let { window } = poll(emptyWindow(0), chain, { withoutFrom: 1 });
  for (let block = 0; block < 60; block += 1) {
    chain.mine([]);
    window = poll(window, chain, { withoutFrom: 1 }).window;
  }
  const settled = poll(window, chain, { settleTo: 1 });
  expect(settled.due).toEqual([{ name: nameOf(1), blockNumber: 1, isDropped: false }]);
  expect(settled.window.settledTo).toBe(1);
});

test('a block is settled by a second read also if the chain makes no further one', () => {
  const chain = new TestChain();
  chain.mine([1]);
  const first = poll(emptyWindow(0), chain, { withoutFrom: 1 });
  expect(poll(first.window, chain).plan).toBeUndefined();
  const second = poll(first.window, chain, { settleTo: 1 });
  expect(second.due).toMatchObject([{ name: nameOf(1) }]);
  expect(poll(second.window, chain, { settleTo: 1 }).plan).toBeUndefined();
});

test('blocks that the answering endpoint does not have are read by the next read', () => {
  const chain = new TestChain();
  for (const account of [1, 2, 3]) chain.mine([account]);
  const first = poll(emptyWindow(0), chain, { endsAt: 2 });
  expect([first.due.length, first.window.readTo]).toEqual([2, 2]);
  expect(poll(first.window, chain).due).toMatchObject([{ name: nameOf(3), blockNumber: 3 }]);
});

test('new and unsettled blocks that need several calls are read apart, so that each block is read twice', () => {
  const chain = new TestChain();
  for (let number = 1; number <= 20; number += 1) chain.mine([]);
  const { window } = poll(emptyWindow(0), chain);
  chain.mine([]);
  const options = { blocksPerCall: 10, settleTo: 5 };
  const fresh = poll(window, chain, options);
  expect(fresh.plan).toMatchObject({ from: 21, to: 21 });
  expect(poll(fresh.window, chain, options).plan).toMatchObject({ from: 1, to: 5 });
});

test('a block far below the head is settled by its first read', () => {
  const chain = new TestChain();
  for (let number = 1; number <= 50; number += 1) chain.mine([]);
  (chain.blocks.at(-1) as { timestamp: number }).timestamp = 30;
  expect(poll(emptyWindow(0), chain, { blocksMax: 7 }).window.settledTo).toBe(7);
});

test('blocks of a new fork that a late node does not have yet are read afterwards, although their numbers were settled', () => {
  const chain = new TestChain();
  for (let number = 1; number <= 12; number += 1) chain.mine([]);
  const { window } = poll(emptyWindow(0), chain, { settleTo: 10 });
  const settled = poll(window, chain, { settleTo: 10 }).window;
  expect(settled.settledTo).toBe(10);
  chain.dropLast(9);
  for (const accounts of [[], [7], [], [], [], [], [], [], [], []]) chain.mine(accounts);
  (chain.head as { timestamp: number }).timestamp = 60;
  const late = poll(settled, chain, { endsAt: 4 }).window;
  expect([late.readTo, late.settledTo]).toEqual([4, 4]);
  expect(poll(late, chain).due).toMatchObject([{ name: nameOf(7), blockNumber: 5 }]);
});

test('a reorg of depth five makes the accounts of dropped and of new logs due', () => {
  const chain = new TestChain();
  let window = emptyWindow(0);
  for (const accounts of [[], [4], [], [1], [2]]) {
    chain.mine(accounts);
    window = poll(window, chain).window;
  }
  chain.dropLast(3);
  for (const accounts of [[], [3], [], []]) chain.mine(accounts);
  const { due, forkFrom } = poll(window, chain);
  // Block 2 has the same log as before, block 3 none.
  expect(forkFrom).toBe(3);
  expect(due).toEqual([
    { name: nameOf(1), blockNumber: 4, isDropped: true },
    { name: nameOf(2), blockNumber: 4, isDropped: true },
    { name: nameOf(3), blockNumber: 4, isDropped: false },
  ]);
});

test('a head of a node that is behind changes nothing', () => {
  const chain = new TestChain();
  let window = emptyWindow(0);
  for (let number = 1; number <= 5; number += 1) {
    chain.mine([1]);
    window = poll(window, chain).window;
  }
  chain.dropLast(2);
  expect(poll(window, chain)).toMatchObject({ window, due: [] });
});

test('a lower head on another fork drops the blocks above it', () => {
  const chain = new TestChain();
  let window = emptyWindow(0);
  for (const accounts of [[], [1], [2]]) {
    chain.mine(accounts);
    window = poll(window, chain).window;
  }
  chain.dropLast(2);
  chain.mine([]);
  const { due, window: after } = poll(window, chain);
  expect(due.map(({ name }) => name)).toEqual([nameOf(1), nameOf(2)]);
  expect(after.readTo).toBe(2);
});

test('a range longer than a read is read in parts, without a gap', () => {
  const chain = new TestChain();
  for (let number = 1; number <= 50; number += 1) chain.mine([1]);
  let window = emptyWindow(0);
  const blocks: number[] = [];
  for (let read = 0; read < 8; read += 1) {
    const polled = poll(window, chain, { blocksMax: 7 });
    window = polled.window;
    blocks.push(...polled.due.map(({ blockNumber }) => blockNumber));
  }
  expect(blocks).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
});

test('a log whose block is not the one of the header is refused', () => {
  const chain = new TestChain();
  chain.mine([1]);
  const [log] = chain.logs(1, 1);
  const wrong = { ...log, blockHash: '0xbad' } as TransferLog;
  const plan = { from: 1, to: 1, isReplaced: false };
  expect(() => applyRead(emptyWindow(0), plan, chain.head, { last: chain.head, logs: [wrong] }, -1)).toThrow(
    'block-mismatch',
  );
});

test('the window keeps the blocks that a reorg may drop and those that are not settled', () => {
  const chain = new TestChain();
  let window = emptyWindow(0);
  for (let number = 1; number <= 2 * REORG_BLOCKS_MAX; number += 1) {
    chain.mine([1]);
    window = poll(window, chain).window;
  }
  expect(window.since).toBe(1);
  window = poll(window, chain, { settleTo: 2 * REORG_BLOCKS_MAX }).window;
  expect(window.blocks.size).toBe(REORG_BLOCKS_MAX);
  expect(window.since).toBe(REORG_BLOCKS_MAX + 1);
});
