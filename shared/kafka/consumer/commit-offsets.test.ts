import type { KafkaMessage } from 'kafkajs';
import { adoptCommitted, assignWindows, makeCommitter, readCommittedWithin } from './commit-offsets.ts';

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

test('keeps the window of a partition that stays, and drops the window of a revoked one', () => {
  const { windows, window } = aWindow();
  expect(assignWindows({ t: [0, 1] }, windows, false).get('t/0')).toBe(window);
  expect([...assignWindows({ t: [1] }, windows, false).keys()]).toEqual(['t/1']);
});

test('neither repeats records nor commits lower offsets after other members committed while the member was outside', () => {
  const { windows, window } = aWindow();
  window.accept(records(0, 10), 10);
  const running = window.take();
  const back = assignWindows({ t: [0] }, windows, true);
  expect(window.hasNewCommit).toBe(false);
  adoptCommitted(back, new Map([['t/0', 6]]));
  expect(window.head?.offset).toBe(6);
  if (running) window.finish(running);
  expect([window.commitOffset, window.committedOffset, window.hasNewCommit]).toEqual([6, 6, false]);
});

test('commits records that the member finished itself before it was outside', () => {
  const { windows, window } = aWindow();
  window.accept(records(0, 3), 3);
  for (let entry = window.take(); entry; entry = window.take()) window.finish(entry);
  adoptCommitted(assignWindows({ t: [0] }, windows, true), new Map([['t/0', 1]]));
  expect([window.commitOffset, window.committedOffset, window.hasNewCommit]).toEqual([3, 1, true]);
});

test('continues from its own offsets if the broker does not answer with the committed ones', async () => {
  const { windows, window } = aWindow();
  window.accept(records(0, 3), 3);
  const committed = await readCommittedWithin(() => Promise.reject(new Error('away')));
  adoptCommitted(assignWindows({ t: [0] }, windows, true), committed);
  expect([window.head?.offset, window.committedOffset]).toEqual([0, -1]);
});

test('commits only prefixes that have grown, and tries again after a refused commit', async () => {
  const { window } = aWindow();
  const commits: string[][] = [];
  let isRefused = true;
  const commitOffsets = async (offsets: { readonly offset: string }[]) => {
    commits.push(offsets.map(({ offset }) => offset));
    if (isRefused) throw new Error('a rebalance');
  };
  const committer = makeCommitter({ commitOffsets }, () => [window]);
  await committer.commitAll();
  window.accept(records(0, 2), 2);
  const first = window.take();
  if (first) window.finish(first);
  await committer.commitAll();
  isRefused = false;
  await committer.commitAll();
  await committer.commitAll();
  expect(commits).toEqual([['1'], ['1']]);
});

test('commits an offset only after its position was stored', async () => {
  const { window } = aWindow();
  window.accept(records(0, 2), 2);
  const first = window.take();
  if (first) window.finish(first);
  const events: string[] = [];
  let isAway = true;
  const committer = makeCommitter(
    { commitOffsets: async (offsets) => void events.push(`commit ${offsets[0]?.offset}`) },
    () => [window],
    async (offsets) => {
      if (isAway) throw new Error('the store is away');
      events.push(`note ${offsets[0]?.offset}`);
    },
  );
  await committer.commitAll();
  isAway = false;
  await committer.commitAll();
  expect(events).toEqual(['note 1', 'commit 1']);
});
