import { makeLagHistory } from './sample-lag.ts';

describe('the age of the oldest unfinished record', () => {
  it('is 0 without lag', () => {
    const history = makeLagHistory();
    history.observe(1_000, [{ partition: 0, end: 5, committed: 5 }]);
    expect(history.oldestAgeMs(9_000)).toBe(0);
  });

  it('grows while nothing is committed, regardless of newer records', () => {
    const history = makeLagHistory();
    for (let second = 0; second < 100; second += 1)
      history.observe(second * 1_000, [{ partition: 0, end: 5 + second, committed: 4 }]);
    expect(history.oldestAgeMs(100_000)).toBe(100_000);
  });

  it('follows the committed offset to the sample in which its record was first seen', () => {
    const history = makeLagHistory();
    history.observe(1_000, [{ partition: 0, end: 10, committed: 0 }]);
    history.observe(2_000, [{ partition: 0, end: 20, committed: 0 }]);
    history.observe(3_000, [{ partition: 0, end: 20, committed: 10 }]);
    expect(history.oldestAgeMs(3_000)).toBe(1_000);
    history.observe(4_000, [{ partition: 0, end: 20, committed: 20 }]);
    expect(history.oldestAgeMs(4_000)).toBe(0);
  });

  it('is that of the worst partition', () => {
    const history = makeLagHistory();
    history.observe(1_000, [
      { partition: 0, end: 1, committed: 0 },
      { partition: 1, end: 0, committed: 0 },
    ]);
    history.observe(5_000, [
      { partition: 0, end: 1, committed: 1 },
      { partition: 1, end: 1, committed: 0 },
    ]);
    expect(history.oldestAgeMs(6_000)).toBe(1_000);
  });

  it('keeps the oldest mark of a backlog however long it lasts', () => {
    const history = makeLagHistory();
    for (let second = 0; second < 5_000; second += 1)
      history.observe(second * 1_000, [{ partition: 0, end: second + 1, committed: 0 }]);
    expect(history.oldestAgeMs(5_000_000)).toBe(5_000_000);
  });
});
