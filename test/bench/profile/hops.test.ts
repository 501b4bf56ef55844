import { hopsOf } from './hops.ts';

const span = (name: string, startMs: number, endMs: number) => ({ name, service: 's', startMs, endMs });

test('hops are in order of their start, relative to the request', () => {
  const traces = [
    [span('work', 103, 104), span('POST', 100, 110)],
    [span('POST', 200, 212), span('work', 203, 206)],
  ];
  expect(hopsOf(traces, 'POST').map(({ name, beginsMs }) => [name, beginsMs])).toEqual([
    ['POST', 0],
    ['work', 3],
  ]);
});

test('a trace without its request is ignored', () => {
  expect(hopsOf([[span('work', 1, 2)]], 'POST')).toEqual([]);
});
