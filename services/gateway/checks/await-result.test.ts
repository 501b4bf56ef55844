import { makeWaiters } from './await-result.ts';

const requestNotice = async () => undefined;

describe('waiters', () => {
  it('answers all waits of a result at one notice, and only when the result is stored', async () => {
    const stored = new Map<string, string>();
    using waiters = makeWaiters({
      readMany: async (ids) => ids.map((id) => stored.get(id)),
      requestNotice,
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

  it('takes a result that comes with its notice, without a read', async () => {
    const readMany = jest.fn(async () => []);
    using waiters = makeWaiters({ readMany, requestNotice, waitersMax: 10 });
    const waiting = waiters.wait({ requestId: 'a', timeoutMs: 60_000 });
    waiters.notice('b {"status":"completed"}');
    waiters.notice('a {"status":"completed"}');
    expect(await waiting.result).toBe('{"status":"completed"}');
    expect(readMany).not.toHaveBeenCalled();
  });

  it('finds a result whose notice was lost at the next periodic read, which is one read for all waiters', async () => {
    const stored = new Map<string, string>();
    const reads: (readonly string[])[] = [];
    using waiters = makeWaiters({
      readMany: async (ids) => {
        reads.push(ids);
        return ids.map((id) => stored.get(id));
      },
      requestNotice,
      waitersMax: 10,
    });
    const waiting = ['a', 'b', 'c'].map((requestId) => waiters.wait({ requestId, timeoutMs: 60_000 }));
    for (const id of ['a', 'b', 'c']) stored.set(id, id);
    waiters.reread();
    expect(await Promise.all(waiting.map((one) => one.result))).toEqual(['a', 'b', 'c']);
    expect(reads).toEqual([['a', 'b', 'c']]);
  });

  it('reads once more at the timeout', async () => {
    using waiters = makeWaiters({
      readMany: async (ids) => ids.map(() => 'late'),
      requestNotice,
      waitersMax: 10,
    });
    expect(await waiters.wait({ requestId: 'a', timeoutMs: 1 }).result).toBe('late');
  });

  it('ends at the timeout, also if the store does not answer', async () => {
    const readMany = () => new Promise<never>(() => undefined);
    using waiters = makeWaiters({ readMany, requestNotice, waitersMax: 10 });
    const waiting = waiters.wait({ requestId: 'a', timeoutMs: 1 });
    expect(await waiting.result).toBeUndefined();
  });

  it('ends without a result and without an error while the store is away', async () => {
    using waiters = makeWaiters({
      readMany: () => Promise.reject(new Error('away')),
      requestNotice,
      waitersMax: 10,
    });
    expect(await waiters.wait({ requestId: 'a', timeoutMs: 1 }).result).toBeUndefined();
    expect(waiters.count()).toBe(0);
  });

  it('refuses long polls above the bound, and frees a slot when one ends', () => {
    using waiters = makeWaiters({ readMany: async () => [], requestNotice, waitersMax: 1 });
    expect(waiters.hasRoom('app_2')).toBe(true);
    const first = waiters.wait({ requestId: 'a', timeoutMs: 60_000, longPollOf: 'app_1' });
    expect(waiters.hasRoom('app_2')).toBe(false);
    first.cancel();
    first.cancel();
    expect(waiters.count()).toBe(0);
    expect(waiters.hasRoom('app_2')).toBe(true);
  });

  it('leaves the places of long polls to them, however many sync checks wait', () => {
    using waiters = makeWaiters({ readMany: async () => [], requestNotice, waitersMax: 2 });
    for (const requestId of ['a', 'b', 'c']) waiters.wait({ requestId, timeoutMs: 60_000 });
    expect(waiters.hasRoom('app_1')).toBe(true);
  });

  it('ends long polls at a stop, and no sync checks', async () => {
    using waiters = makeWaiters({ readMany: async () => [], requestNotice, waitersMax: 10 });
    const poll = waiters.wait({ requestId: 'a', timeoutMs: 60_000, longPollOf: 'app_1' });
    waiters.wait({ requestId: 'a', timeoutMs: 60_000 });
    waiters.endLongPolls();
    expect(await poll.result).toBeUndefined();
    expect(waiters.count()).toBe(1);
  });

  it('requests a notice for a long poll, which tells a result that was saved before', async () => {
    const wanted: string[] = [];
    using waiters = makeWaiters({
      readMany: async () => [],
      async requestNotice(requestId, forMs) {
        wanted.push(`${requestId} for ${forMs}`);
        return 'there';
      },
      waitersMax: 10,
    });
    expect(await waiters.wait({ requestId: 'a', timeoutMs: 60_000, longPollOf: 'app_1' }).result).toBe(
      'there',
    );
    expect(wanted).toEqual(['a for 60000']);
  });
});
