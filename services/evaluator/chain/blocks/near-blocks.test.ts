import fc from 'fast-check';
import { anEndpoint } from '../../../../test/support/builders/an-endpoint.ts';
import { poolOf } from '../../../../test/support/builders/pool-of.ts';
import { BlockTime } from '../endpoints/block-time.ts';
import type { Rpc } from '../rpc/connect-rpc.ts';
import type { Block } from './block.ts';
import { NearBlocks } from './near-blocks.ts';

// The blocks of a chain by their time. Nodes answer headers of blocks by number.

/** A chain whose block n has the n-th timestamp; `fork` distinguishes its hashes. */
const chainOf = (timestamps: readonly number[], fork = 'a'): Block[] => {
  const hashOf = (number: number) => `0x${(number + 1).toString(16).padStart(63, '0')}${fork}`;
  return timestamps.map((timestamp, number) => ({
    ...{ number, timestamp },
    ...{ hash: hashOf(number), parentHash: hashOf(number - 1) },
  }));
};

function makeNearBlocks(start: readonly Block[], { blockTimeMs = 12_000, quorum = 1 } = {}) {
  const state = { chains: Array.from({ length: quorum }, () => start) };
  const calls: number[][] = [];
  const endpoints = state.chains.map((_, index) => {
    const callMany: Rpc['callMany'] = async (requests) => {
      const numbers = requests.map(({ params }) => Number((JSON.parse(params) as [string])[0]));
      calls.push(numbers);
      return numbers.map((number) => {
        const block = state.chains[index]?.[number];
        const hex = (value: number) => `0x${value.toString(16)}`;
        return {
          ok: true,
          result: block && { ...block, number: hex(block.number), timestamp: hex(block.timestamp) },
        };
      });
    };
    return anEndpoint({ callMany }, { name: String(index) });
  });
  const near = new NearBlocks({
    pool: { ...poolOf(endpoints), ageMs: () => 10_000 },
    quorum,
    blockTime: new BlockTime(blockTimeMs),
    closed: new AbortController().signal,
  });
  const request = (chain: readonly Block[], gone: readonly Block[] = []) => ({
    head: chain.at(-1) as Block,
    gone,
    signal: new AbortController().signal,
  });
  return { near, state, calls, request };
}

const every = (seconds: number, count: number, from = 1_000) =>
  Array.from({ length: count }, (_, index) => from + seconds * index);

test('the last block until a time costs one call, and none while the time stays the same', async () => {
  const chain = chainOf(every(2, 500));
  const { near, calls, request } = makeNearBlocks(chain, { blockTimeMs: 2_000 });
  const head = chain.slice(0, 400);
  expect(await near.findUntil(1_781, request(head))).toEqual(chain[390]);
  expect(calls).toEqual([[390, 391]]);
  for (const length of [400, 401, 405]) {
    const found = await near.findUntil(1_781, request(chain.slice(0, length)));
    expect(found).toEqual(chain[390]);
  }
  expect(calls).toHaveLength(1);
});

test('a head that is not later is the last block, without a call', async () => {
  const chain = chainOf(every(2, 10));
  const { near, calls, request } = makeNearBlocks(chain);
  expect(await near.findUntil(1_018, request(chain))).toEqual(chain[9]);
  expect(calls).toEqual([]);
});

test('checks that look for the same time share a look-up', async () => {
  const chain = chainOf(every(2, 50));
  const { near, calls, request } = makeNearBlocks(chain, { blockTimeMs: 2_000 });
  await Promise.all(Array.from({ length: 20 }, () => near.findUntil(1_050, request(chain))));
  expect(calls).toHaveLength(1);
});

test('a time before all blocks that may be read gives the lowest of them, 119 below the head', async () => {
  const chain = chainOf(every(1, 300));
  const { near, request } = makeNearBlocks(chain, { blockTimeMs: 1_000 });
  expect(await near.findUntil(1_100, request(chain))).toEqual(chain[180]);
  const young = chainOf(every(1, 5));
  const first = makeNearBlocks(young);
  expect(await first.near.findUntil(10, first.request(young))).toEqual(young[0]);
});

test('a remembered block that a reorg replaced is looked up again, at the latest once it was not readable', async () => {
  const old = chainOf(every(2, 100));
  const { near, state, request } = makeNearBlocks(old, { blockTimeMs: 2_000 });
  const found = await near.findUntil(1_181, request(old));
  const other = [...old.slice(0, 80), ...chainOf(every(2, 102), 'b').slice(80)];
  state.chains = [other];
  // The next block is none of its children.
  expect(await near.findUntil(1_183, request(other))).toEqual(other[91]);
  expect(await near.findUntil(1_181, request(other, [found]))).toEqual(other[90]);
});

test('a block that the check could not read is not taken from memory', async () => {
  const chain = chainOf(every(2, 100));
  const { near, calls, request } = makeNearBlocks(chain, { blockTimeMs: 2_000 });
  const found = await near.findUntil(1_181, request(chain));
  await near.findUntil(1_181, request(chain, [found]));
  expect(calls).toHaveLength(2);
});

test('a quorum of endpoints must agree on a block', async () => {
  const chain = chainOf(every(2, 100));
  const { near, state, request } = makeNearBlocks(chain, { blockTimeMs: 2_000, quorum: 2 });
  state.chains = [chain, chainOf(every(2, 100), 'b')];
  await expect(near.findUntil(1_181, request(chain))).rejects.toMatchObject({ kind: 'block-mismatch' });
});

test('of any chain, it is the last block until the time, within eleven calls', async () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(
      gaps,
      fc.array(fc.integer({ min: 0, max: 120 }), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(250, 2_000, 12_000),
      async (steps, ages, blockTimeMs) => {
        let at = 10_000;
        const chain = chainOf(steps.map((step) => (at += step)));
        const { near, calls, request } = makeNearBlocks(chain, { blockTimeMs });
        for (const age of ages) {
          const before = calls.length;
          const seconds = (chain.at(-1)?.timestamp ?? 0) - age;
          const inReach = chain.slice(-120);
          const expected = inReach.findLast(({ timestamp }) => timestamp <= seconds) ?? inReach[0];
          expect(await near.findUntil(seconds, request(chain))).toEqual(expected);
          expect(calls.length - before).toBeLessThanOrEqual(11);
        }
      },
    ),
  );
});
