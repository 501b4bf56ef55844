import { growthOf, type Sample } from './soak.ts';

const life = (service: string, pid: number, memory: readonly number[]): Sample[] =>
  memory.map((rssMib, i) => ({ atS: i, service, pid, rssMib, handles: 10, delayMs: 1 }));

test('memory that grows is seen, by its last third against its first', () => {
  const [memory, handles] = growthOf(life('gateway', 1, [100, 100, 110, 120, 150, 150]));
  expect(memory).toMatchObject({ measured: '1.5 ×', met: false });
  expect(handles).toMatchObject({ measured: '1 ×', met: true });
});

test('of processes that were killed, the one that lived longest speaks', () => {
  const short = life('gateway', 1, [1, 1, 1, 9, 9, 9]);
  const long = life('gateway', 2, [5, 5, 5, 5, 5, 5, 5]);
  expect(growthOf([...short, ...long])[0]).toMatchObject({ measured: '1 ×' });
  expect(growthOf(life('gateway', 3, [1, 9]))).toEqual([]);
});
