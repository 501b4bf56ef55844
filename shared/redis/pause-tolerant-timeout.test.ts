import { startPauseTolerantTimeout } from './pause-tolerant-timeout.ts';

describe('a pause-tolerant timeout', () => {
  it('ends after its time', () => {
    jest.useFakeTimers();
    try {
      const expire = jest.fn();
      startPauseTolerantTimeout(250, expire);
      jest.advanceTimersByTime(249);
      expect(expire).not.toHaveBeenCalled();
      jest.advanceTimersByTime(1);
      expect(expire).toHaveBeenCalledTimes(1);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('lets data that arrived while the process was suspended be read before it ends', async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      const timeout = startPauseTolerantTimeout(200, () => resolve(void order.push('expired')));
      const standingStillUntil = performance.now() + 250;
      while (performance.now() < standingStillUntil);
      // The next tick of the event loop, in which an answer would arrive.
      setImmediate(() => {
        order.push('answered');
        timeout.clear();
        resolve();
      });
    });
    expect(order).toEqual(['answered']);
  });
});
