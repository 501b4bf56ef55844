import { setTimeout as delay } from 'node:timers/promises';
import type { Block } from '../blocks/block.ts';
import { KeptHashes, NO_HASH, NOTHING_KEPT } from './state-identity.ts';

const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}`;
const blockOf = (number: number): Block => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp: 0,
});
const WINDOW = 8_191;
/** What a sound chain's contract answers in the context of block n over the state of block
 * `state`. */
const keptBy = (n: number, state = n) => {
  const slotOf = (number: number) => {
    for (let kept = state - 1; kept >= Math.max(0, state - WINDOW); kept--)
      if (kept % WINDOW === number % WINDOW) return hashOf(kept);
    return NO_HASH;
  };
  return { parent: slotOf(n - 1), overwritten: slotOf(n) };
};

test('a state is identified by the hash of its parent, before and after the slots are full', () => {
  const identify = new KeptHashes().of('0');
  for (const number of [100, WINDOW, WINDOW + 1, 20_000])
    expect(identify(blockOf(number), keptBy(number))).toBe(true);
});

test.each([
  ['one block earlier', 20_000, 19_999],
  ['many blocks earlier', 20_000, 15_000],
  ['one block later', 20_000, 20_001],
  ['many blocks later', 20_000, 27_000],
  ['one whole window later', 20_000, 20_000 + WINDOW],
  ['later, in a chain whose slots are not full', 5_000, 5_001],
])('the state of another block is a mismatch, also at the first call: %s', (_, number, state) => {
  const identifyOther = () => new KeptHashes().of('0')(blockOf(number), keptBy(number, state));
  expect(identifyOther).toThrow('block-mismatch');
});

test('a chain that never kept a hash has no identified state, and no mismatch', () => {
  const identify = new KeptHashes().of('0');
  expect([1, 100, 20_000].map((number) => identify(blockOf(number), NOTHING_KEPT))).toEqual([
    false,
    false,
    false,
  ]);
});

test('from the first block that kept a hash on, an answer without one is of another state', () => {
  const identify = new KeptHashes().of('0');
  identify(blockOf(20_000), keptBy(20_000));
  expect(() => identify(blockOf(20_001), NOTHING_KEPT)).toThrow('block-mismatch');
  // A past block may be from before the fork that introduced the contract.
  expect(identify(blockOf(10_000), NOTHING_KEPT)).toBe(false);
  identify(blockOf(5_000), keptBy(5_000));
  expect(() => identify(blockOf(10_000), NOTHING_KEPT)).toThrow('block-mismatch');
});

test('an endpoint without hashes has answered from another state, unless more have none than have some', () => {
  const kept = new KeptHashes();
  const identify = (name: string, pair = NOTHING_KEPT) => kept.of(name)(blockOf(20_000), pair);
  expect(identify('liar', keptBy(20_000))).toBe(true);
  expect(() => identify('one')).toThrow('block-mismatch');
  expect([identify('other'), identify('one')]).toEqual([false, false]);
  expect(() => identify('liar')).toThrow('block-mismatch');
  identify('witness', keptBy(20_000));
  expect(() => identify('one')).toThrow('block-mismatch');
});

test('an endpoint that has shown no hashes for ten minutes has no word', async () => {
  const now = jest.spyOn(performance, 'now').mockReturnValue(1);
  const kept = new KeptHashes();
  const identify = (name: string, pair = NOTHING_KEPT) => kept.of(name)(blockOf(20_000), pair);
  identify('first', keptBy(20_000));
  expect(() => identify('gone')).toThrow('block-mismatch');
  expect(identify('also gone')).toBe(false);
  now.mockReturnValue(600_002);
  // The cache reads the clock once in a millisecond.
  await delay(5);
  identify('first', keptBy(20_000));
  expect(() => identify('one')).toThrow('block-mismatch');
  now.mockRestore();
});
