import { setTimeout as delay } from 'node:timers/promises';
import { startTogether } from './start-together.ts';

/** A resource that notes its disposal, which takes two ticks of the event loop. */
const resource = (name: string, log: string[]): AsyncDisposable => ({
  async [Symbol.asyncDispose]() {
    log.push(`${name} begins to stop`);
    await delay(0);
    log.push(`${name} has stopped`);
  },
});

test('resources that started together stop together', async () => {
  const log: string[] = [];
  const both = await startTogether([
    Promise.resolve(resource('a', log)),
    Promise.resolve(resource('b', log)),
  ]);
  expect(log).toEqual([]);
  await both[Symbol.asyncDispose]();
  expect(log).toEqual(['a begins to stop', 'b begins to stop', 'a has stopped', 'b has stopped']);
});

test('if one fails to start, the others have stopped before its error is thrown', async () => {
  const log: string[] = [];
  const late = delay(0).then(() => resource('late', log));
  await expect(startTogether([Promise.reject(new Error('no broker')), late])).rejects.toThrow('no broker');
  expect(log).toEqual(['late begins to stop', 'late has stopped']);
});
