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
