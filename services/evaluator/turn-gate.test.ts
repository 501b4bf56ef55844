import { makeTurnGate } from './turn-gate.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('what one turn has no room for goes on in the next ones, the interactive lane first', async () => {
  const { pass } = makeTurnGate();
  const passed: string[] = [];
  const enter = async (lane: 'interactive' | 'bulk') => {
    await pass(lane);
    passed.push(lane);
  };
  const entered = Array.from({ length: 200 }, () => enter('bulk'));
  entered.push(enter('interactive'));
  await Promise.resolve();
  const first = passed.length;
  expect(first).toBeLessThan(200);
  await nextTurn();
  expect(passed[first]).toBe('interactive');
  expect(passed.length).toBeLessThan(201);
  await Promise.all(entered);
  expect(passed).toHaveLength(201);
});

test('nobody waits while a turn has room', async () => {
  const { pass } = makeTurnGate();
  expect(pass('bulk')).toBeUndefined();
  await nextTurn();
  await nextTurn();
  for (let count = 0; count < 64; count++) expect(pass('bulk')).toBeUndefined();
  expect(pass('bulk')).toBeDefined();
});
