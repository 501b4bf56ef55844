import { makeRandomHex } from './random-pool.ts';

test('pieces have the requested length, and none is repeated, also beyond one pool', () => {
  const draw = makeRandomHex(10);
  const pieces = Array.from({ length: 2_000 }, draw);
  expect(new Set(pieces).size).toBe(pieces.length);
  expect(pieces.every((piece) => /^[0-9a-f]{20}$/.test(piece))).toBe(true);
});
