import type { Block } from './block.ts';
import { CommonInstant } from './common-instant.ts';

const aBlock = (timestamp: number, number = timestamp): Block => ({
  ...{ number, timestamp },
  ...{ hash: `0x${number}`, parentHash: `0x${number - 1}` },
});
const running = () => new AbortController().signal;
/** Finds blocks of a chain that has one a second, down to a lowest one. */
const from = (lowest: number) => async (seconds: number) => aBlock(Math.max(lowest, seconds));
const everySecond = from(0);

/** The timestamps at which chains with these heads are read; undefined: not at the instant of the
 * others. */
async function readAt(heads: readonly number[], find = heads.map(() => everySecond)) {
  const instant = new CommonInstant(heads.keys(), running());
  const blocks = heads.map((head, id) => instant.blockOf(id, aBlock(head), find[id] ?? everySecond));
  return (await Promise.all(blocks)).map((block) => block?.timestamp);
}

test.each<[string, number[], (number | undefined)[]]>([
  ['the head that is the oldest', [1_000, 1_012, 1_003], [1_000, 1_000, 1_000]],
  ['heads of the same time', [1_000, 1_000], [1_000, 1_000]],
  ['a head that is 60 s old', [1_000, 1_060], [1_000, 1_000]],
  ['a head that is 61 s old, which does not count', [1_000, 1_061], [undefined, 1_061]],
  ['the oldest of those that count', [900, 1_061, 1_002], [undefined, 1_002, 1_002]],
])('all chains are read at the time of %s', (_, heads, expected) =>
  expect(readAt(heads)).resolves.toEqual(expected),
);

test('the time is raised to that of the lowest block that may be read', () =>
  expect(readAt([1_000, 1_050, 1_040], [everySecond, from(1_020), from(1_010)])).resolves.toEqual([
    1_020, 1_020, 1_020,
  ]));

test('a chain that has no head is not waited for', async () => {
  const instant = new CommonInstant([1, 2], running());
  const read = instant.blockOf(1, aBlock(1_000), everySecond);
  instant.leave(2);
  expect((await read)?.timestamp).toBe(1_000);
});

test('a head that comes after the decision must not be older', async () => {
  const instant = new CommonInstant([1, 2, 3], running());
  instant.leave(2);
  instant.leave(3);
  await instant.blockOf(1, aBlock(1_000), everySecond);
  expect((await instant.blockOf(2, aBlock(1_005), everySecond))?.timestamp).toBe(1_000);
  expect(await instant.blockOf(3, aBlock(999), everySecond)).toBeUndefined();
});

test('a look-up that fails concerns its own chain alone', async () => {
  const failing = async () => {
    throw new Error('no endpoint answers');
  };
  const instant = new CommonInstant([1, 2], running());
  const [one, other] = await Promise.allSettled([
    instant.blockOf(1, aBlock(1_000), everySecond),
    instant.blockOf(2, aBlock(1_005), failing),
  ]);
  expect([one, other]).toMatchObject([{ value: { timestamp: 1_000 } }, { status: 'rejected' }]);
});

test('a check that must end does not wait for the other chains', async () => {
  const controller = new AbortController();
  const instant = new CommonInstant([1, 2], controller.signal);
  const read = instant.blockOf(1, aBlock(1_000), everySecond);
  controller.abort();
  expect((await read)?.timestamp).toBe(1_000);
});
