import { FairQueue } from './fair-queue.ts';

const always = () => true;
const appOf = (clientId: string, accountId = `acc_of_${clientId}`) => ({ accountId, clientId });

test('a client with a backlog delays the others by one turn and no more', () => {
  const queue = new FairQueue<string>();
  for (let index = 0; index < 10_000; index++) queue.push(appOf('big'), `big ${index}`);
  queue.push(appOf('small'), 'small 0');
  const taken = queue.take(100, always);
  expect(taken).toContain('small 0');
  expect(taken).toHaveLength(100);
  expect(queue.size).toBe(9_901);
});

test('an account with a hundred apps delays another by one turn and no more', () => {
  const queue = new FairQueue<string>();
  for (let index = 0; index < 10_000; index++) queue.push(appOf(`app ${index % 100}`, 'big'), 'big');
  for (let index = 0; index < 100; index++) queue.push(appOf('small'), 'small');
  expect(queue.take(128, always).filter((item) => item === 'small')).toHaveLength(64);
});

test('within a client the order is kept', () => {
  const queue = new FairQueue<number>();
  for (let index = 0; index < 100; index++) queue.push(appOf('one'), index);
  expect([...queue.take(60, always), ...queue.take(60, always)]).toEqual(
    Array.from({ length: 100 }, (_, n) => n),
  );
});

test('an item that is no longer wanted is dropped and takes no slot', () => {
  const queue = new FairQueue<number>();
  for (let index = 0; index < 100; index++) queue.push(appOf('one'), index);
  expect(queue.take(10, (item) => item % 10 === 0)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
  expect(queue.take(10, always)).toEqual(Array.from({ length: 9 }, (_, n) => 91 + n));
});

test('a backlog that never ends keeps its order and its bounds', () => {
  const queue = new FairQueue<number>();
  const taken: number[] = [];
  let pushed = 0;
  for (let round = 0; round < 1_000; round++) {
    for (let count = 0; count < 50; count++) queue.push(appOf('one'), pushed++);
    taken.push(...queue.take(round === 0 ? 10 : 50, always));
  }
  expect(taken).toEqual(Array.from({ length: taken.length }, (_, n) => n));
  expect(queue.size).toBe(40);
});
