import { makeWaiters } from './await-result.ts';

const want = async () => undefined;

describe('those who wait for a result', () => {
  it('are all told by one notice, and only when the result is there', async () => {
    const stored = new Map<string, string>();
    using waiters = makeWaiters({
      readMany: async (ids) => ids.map((id) => stored.get(id)),
      want,
      waitersMax: 10,
    });
    const options = { requestId: 'a', timeoutMs: 60_000 };
    const waiting = [waiters.wait(options), waiters.wait(options)];
    waiters.notice('a');
    waiters.notice('unknown');
    stored.set('a', 'result');
    expect(waiters.count()).toBe(2);
    waiters.notice('a');
    expect(await Promise.all(waiting.map((one) => one.result))).toEqual(['result', 'result']);
    expect(waiters.count()).toBe(0);
  });

  it('find it at a re-read when the notice was lost, in one read for all', async () => {
    const stored = new Map<string, string>();
    const reads: (readonly string[])[] = [];
    using waiters = makeWaiters({
      readMany: async (ids) => {
        reads.push(ids);
        return ids.map((id) => stored.get(id));
      },
      want,
      waitersMax: 10,
    });
    const waiting = ['a', 'b', 'c'].map((requestId) => waiters.wait({ requestId, timeoutMs: 60_000 }));
    for (const id of ['a', 'b', 'c']) stored.set(id, id);
    waiters.reread();
    expect(await Promise.all(waiting.map((one) => one.result))).toEqual(['a', 'b', 'c']);
    expect(reads).toEqual([['a', 'b', 'c']]);
  });

  it('look once more when their time is up', async () => {
    using waiters = makeWaiters({ readMany: async (ids) => ids.map(() => 'late'), want, waitersMax: 10 });
    expect(await waiters.wait({ requestId: 'a', timeoutMs: 1 }).result).toBe('late');
  });

  it('are let go when their time is up, also by a store that does not answer', async () => {
    const readMany = () => new Promise<never>(() => undefined);
    using waiters = makeWaiters({ readMany, want, waitersMax: 10 });
    const waiting = waiters.wait({ requestId: 'a', timeoutMs: 1 });
    expect(await waiting.result).toBeUndefined();
  });

  it('end without a result, and without a failure, while the store is away', async () => {
    using waiters = makeWaiters({ readMany: () => Promise.reject(new Error('away')), want, waitersMax: 10 });
    expect(await waiters.wait({ requestId: 'a', timeoutMs: 1 }).result).toBeUndefined();
    expect(waiters.count()).toBe(0);
  });

  it('leave no room for more long polls beyond the bound, and free their place when they leave', () => {
    using waiters = makeWaiters({ readMany: async () => [], want, waitersMax: 1 });
    expect(waiters.hasRoom('app_2')).toBe(true);
    const first = waiters.wait({ requestId: 'a', timeoutMs: 60_000, longPollOf: 'app_1' });
    expect(waiters.hasRoom('app_2')).toBe(false);
    first.cancel();
    first.cancel();
    expect(waiters.count()).toBe(0);
    expect(waiters.hasRoom('app_2')).toBe(true);
  });

  it('by a long poll are let go at a stop, sync checks are not', async () => {
    using waiters = makeWaiters({ readMany: async () => [], want, waitersMax: 10 });
    const poll = waiters.wait({ requestId: 'a', timeoutMs: 60_000, longPollOf: 'app_1' });
    waiters.wait({ requestId: 'a', timeoutMs: 60_000 });
    waiters.endLongPolls();
    expect(await poll.result).toBeUndefined();
    expect(waiters.count()).toBe(1);
  });

  it('by a long poll ask for a notice, and look once more for what was saved before', async () => {
    const wanted: string[] = [];
    using waiters = makeWaiters({
      readMany: async (ids) => ids.map(() => (wanted.length > 0 ? 'there' : undefined)),
      want: async (requestId, forMs) => void wanted.push(`${requestId} for ${forMs}`),
      waitersMax: 10,
    });
    expect(await waiters.wait({ requestId: 'a', timeoutMs: 60_000, longPollOf: 'app_1' }).result).toBe(
      'there',
    );
    expect(wanted).toEqual(['a for 60000']);
  });
});
