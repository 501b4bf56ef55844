import { FairQueue } from './fair-queue.ts';
import type { Owner } from './fair-shares.ts';

const appOf = (accountId: string, clientId: string): Owner => ({ accountId, clientId });

const takeAll = (queue: FairQueue<string>): string[] => {
  const taken: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  return taken;
};

test('accounts have turns, and within an account its apps', () => {
  const queue = new FairQueue<string>();
  for (const app of ['one', 'one', 'two', 'three']) queue.push(appOf('big', app), `big ${app}`);
  for (const item of ['small 1', 'small 2']) queue.push(appOf('small', 'only'), item);
  expect(takeAll(queue)).toEqual(['big one', 'small 1', 'big two', 'small 2', 'big three', 'big one']);
  expect(queue.size).toBe(0);
});

test('drops the newest of the account with the most items, however it spreads them over its apps', () => {
  const queue = new FairQueue<string>();
  for (let app = 0; app < 5; app += 1) queue.push(appOf('big', `${app}`), `big ${app}`);
  for (const item of ['small 1', 'small 2']) queue.push('small', item);
  expect(queue.drop('small')).toBe('big 0');
  queue.push(appOf('big', '1'), 'big 1 again');
  expect(queue.drop('small')).toBe('big 1 again');
});

test('an item that is not ready keeps its turn, and the next one that is ready is taken', () => {
  const queue = new FairQueue<string>();
  queue.push('a', 'a 1');
  queue.push('b', 'b 1');
  expect(queue.take((_, owner) => owner === 'b')).toBe('b 1');
  expect([queue.take((_, owner) => owner === 'b'), queue.take()]).toEqual([undefined, 'a 1']);
});

test('a removed item is not taken', () => {
  const queue = new FairQueue<string>();
  for (const item of ['1', '2']) queue.push('a', item);
  expect([queue.remove('a', '1'), queue.remove('a', '1'), queue.remove('b', '2')]).toEqual([
    true,
    false,
    false,
  ]);
  expect([queue.has('a'), takeAll(queue), queue.has('a')]).toEqual([true, ['2'], false]);
});

test('a bounded number of owners is looked at, and the others have their turn next', () => {
  const queue = new FairQueue<string>();
  for (let app = 0; app < 5; app += 1) queue.push(appOf('big', `${app}`), `big ${app}`);
  queue.push('small', 'small 1');
  const looked: string[] = [];
  const takeSmall = () =>
    queue.take(
      (item) => {
        looked.push(item);
        return item === 'small 1';
      },
      { looksMax: 2 },
    );
  expect([takeSmall(), takeSmall()]).toEqual([undefined, 'small 1']);
  expect(looked).toEqual(['big 0', 'big 1', 'small 1']);
});

test('of one account alone the next item is taken', () => {
  const queue = new FairQueue<string>();
  queue.push('first', 'first 1');
  queue.push(appOf('second', 'app'), 'second 1');
  expect([queue.has('second'), queue.take(undefined, { of: 'second' }), queue.has('second')]).toEqual([
    true,
    'second 1',
    false,
  ]);
  expect(queue.take(undefined, { of: 'second' })).toBeUndefined();
});

describe('where many items are taken at once', () => {
  const always = () => true;
  const of = (clientId: string) => appOf(`account of ${clientId}`, clientId);

  test('a client with a backlog delays the others by one turn and no more', () => {
    const queue = new FairQueue<string>();
    for (let index = 0; index < 10_000; index++) queue.push(of('big'), `big ${index}`);
    queue.push(of('small'), 'small 0');
    const taken = queue.takeMany(100, always);
    expect(taken).toContain('small 0');
    expect(taken).toHaveLength(100);
    expect(queue.size).toBe(9_901);
  });

  test('an account with a hundred apps delays another by one turn and no more', () => {
    const queue = new FairQueue<string>();
    for (let index = 0; index < 10_000; index++) queue.push(appOf('big', `app ${index % 100}`), 'big');
    for (let index = 0; index < 100; index++) queue.push(of('small'), 'small');
    expect(queue.takeMany(128, always).filter((item) => item === 'small')).toHaveLength(64);
  });

  test('within a client the order is kept', () => {
    const queue = new FairQueue<number>();
    for (let index = 0; index < 100; index++) queue.push(of('one'), index);
    expect([...queue.takeMany(60, always), ...queue.takeMany(60, always)]).toEqual(
      Array.from({ length: 100 }, (_, n) => n),
    );
  });

  test('an item that is no longer wanted is dropped and takes no slot', () => {
    const queue = new FairQueue<number>();
    for (let index = 0; index < 100; index++) queue.push(of('one'), index);
    expect(queue.takeMany(10, (item) => item % 10 === 0)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    expect(queue.takeMany(10, always)).toEqual(Array.from({ length: 9 }, (_, n) => 91 + n));
  });

  test('a backlog that never ends keeps its order and its bounds', () => {
    const queue = new FairQueue<number>();
    const taken: number[] = [];
    let pushed = 0;
    for (let round = 0; round < 1_000; round++) {
      for (let count = 0; count < 50; count++) queue.push(of('one'), pushed++);
      taken.push(...queue.takeMany(round === 0 ? 10 : 50, always));
    }
    expect(taken).toEqual(Array.from({ length: taken.length }, (_, n) => n));
    expect(queue.size).toBe(40);
  });
});
