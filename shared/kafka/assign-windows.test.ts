import type { KafkaMessage } from 'kafkajs';
import { assignWindows, catchUp } from './assign-windows.ts';

const records = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    offset: String(from + i),
    key: Buffer.from(`k${i}`),
    value: null,
  })) as KafkaMessage[];

function aWindow() {
  const windows = assignWindows({ t: [0] }, new Map(), false);
  const window = windows.get('t/0');
  if (window === undefined) throw new Error('no window');
  return { windows, window };
}

test('a partition that stays with its member keeps what runs, one that goes is forgotten', () => {
  const { windows, window } = aWindow();
  expect(assignWindows({ t: [0, 1] }, windows, false).get('t/0')).toBe(window);
  expect([...assignWindows({ t: [1] }, windows, false).keys()]).toEqual(['t/1']);
});

test('what others committed while a member was out is not worked again, and nothing is committed back', async () => {
  const { windows, window } = aWindow();
  window.accept(records(0, 10), 10);
  const running = window.take();
  const back = assignWindows({ t: [0] }, windows, true);
  expect(window.commitOffset > window.committedOffset).toBe(false);
  await catchUp(back, async () => new Map([['t/0', 6]]));
  expect(window.head?.offset).toBe(6);
  if (running) window.finish(running);
  expect({ next: window.commitOffset, committed: window.committedOffset }).toEqual({ next: 6, committed: 6 });
});

test('what a member did itself before it was out is committed when it is back', async () => {
  const { windows, window } = aWindow();
  window.accept(records(0, 3), 3);
  for (let entry = window.take(); entry; entry = window.take()) window.finish(entry);
  await catchUp(assignWindows({ t: [0] }, windows, true), async () => new Map([['t/0', 1]]));
  expect({ next: window.commitOffset, committed: window.committedOffset }).toEqual({ next: 3, committed: 1 });
});

test('a broker that does not tell what was committed costs repeated work and no more', async () => {
  const { windows, window } = aWindow();
  window.accept(records(0, 3), 3);
  await catchUp(assignWindows({ t: [0] }, windows, true), () => Promise.reject(new Error('away')));
  expect({ head: window.head?.offset, committed: window.committedOffset }).toEqual({
    head: 0,
    committed: -1,
  });
});
