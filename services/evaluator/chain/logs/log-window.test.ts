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
  TAIL_BLOCKS,
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
        contract: CONTRACT,
        blockNumber: number,
        blockHash: hash,
        accounts: [accountOf(account)],
      })),
    );
  }

  /** The state behind a balance: the blocks of all transfers of the account. */
  balanceOf(account: number): string {
    return this.blocks
      .filter(({ accounts }) => accounts.includes(account))
      .map(({ hash }) => hash)
      .join();
  }
}

/** One poll as the follower does it, with an answer that may lack logs of the newest blocks. */
function poll(
  window: LogWindow,
  chain: TestChain,
  { blocksMax = 1_000, withoutFrom = Number.POSITIVE_INFINITY } = {},
): { window: LogWindow; due: DueTransfer[] } {
  const { head } = chain;
  const header = needsHeader(window, head) ? chain.blocks[window.readTo] : undefined;
  const isReplaced = isReplacedBy(window, head) || (header !== undefined && isReplacedBy(window, header));
  const plan = planRead(window, head, isReplaced, blocksMax);
  if (plan === undefined) return { window, due: [] };
  const logs = chain.logs(plan.from, plan.to).filter(({ blockNumber }) => blockNumber < withoutFrom);
  return applyRead(window, plan, head, logs);
}

const ACCOUNTS = [1, 2, 3, 4];
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ mine: fc.array(fc.constantFrom(...ACCOUNTS), { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ reorg: fc.integer({ min: 1, max: 9 }), seed: fc.nat() }) },
  { weight: 4, arbitrary: fc.constant({ poll: true }) },
);

test('every account whose transfers changed is due, through any schedule of blocks, reorgs and polls', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const chain = new TestChain();
      let window = emptyWindow(0);
      // The knowledge of a naive client, which reads the balance of an account each time that it is due.
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
          const polled = poll(window, chain);
          window = polled.window;
          for (const account of ACCOUNTS)
            if (polled.due.some(({ name }) => name === nameOf(account)))
              known.set(account, chain.balanceOf(account));
          for (const account of ACCOUNTS) expect(known.get(account)).toBe(chain.balanceOf(account));
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

test('a log that a node had not indexed when its block was new is found by the next reads', () => {
  const chain = new TestChain();
  chain.mine([1]);
  const first = poll(emptyWindow(0), chain, { withoutFrom: 1 });
  expect(first.due).toEqual([]);
  for (let block = 1; block < TAIL_BLOCKS; block += 1) chain.mine([]);
  expect(poll(first.window, chain).due).toEqual([{ name: nameOf(1), blockNumber: 1, isDropped: false }]);
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
  expect(poll(window, chain).due).toEqual([
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
  expect(poll(window, chain)).toEqual({ window, due: [] });
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
  expect(() => applyRead(emptyWindow(0), plan, chain.head, [wrong])).toThrow('block-mismatch');
});

test('the window keeps a bounded number of blocks', () => {
  const chain = new TestChain();
  let window = emptyWindow(0);
  for (let number = 1; number <= 2 * REORG_BLOCKS_MAX; number += 1) {
    chain.mine([1]);
    window = poll(window, chain).window;
  }
  expect(window.blocks.size).toBe(REORG_BLOCKS_MAX);
  expect(window.since).toBe(REORG_BLOCKS_MAX + 1);
});
