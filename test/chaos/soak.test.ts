import { growthOf, type Sample } from './soak.ts';

const life = (service: string, pid: number, memory: readonly number[]): Sample[] =>
  memory.map((rssMib, i) => ({ atS: i, service, pid, rssMib, handles: 10, delayMs: 1 }));

test('growth is the last third of a run compared with its first', () => {
  const [memory, handles] = growthOf(life('gateway', 1, [100, 100, 110, 120, 150, 150]));
  expect(memory).toMatchObject({ measured: '1.5 ×', met: false });
  expect(handles).toMatchObject({ measured: '1 ×', met: true });
});

test('a killed process is continued by its replacement', () => {
  const lives = [0, 1, 2].flatMap((i) =>
    life('gateway', i, [5, 9, 9]).map((sample) => ({ ...sample, atS: sample.atS + 3 * i })),
  );
  const [memory] = growthOf(lives);
  expect(memory?.met).toBe(true);
  expect(growthOf(life('gateway', 3, [1, 9]))).toEqual([]);
});
