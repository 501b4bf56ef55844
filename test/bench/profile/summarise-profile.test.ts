import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { allocations, placeOf, selfTimes } from './summarise-profile.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const own = pathToFileURL(join(ROOT, 'services/gateway/app.ts')).href;
const frame = (functionName: string, url: string) => ({
  functionName,
  url,
  scriptId: '1',
  lineNumber: 4,
  columnNumber: 0,
});

test('a frame belongs to its package, its Node module, or its file', () => {
  expect(placeOf('file:///x/node_modules/a/node_modules/@b/c/d.js')).toBe('@b/c');
  expect(placeOf('node:internal/timers')).toBe('node:internal/timers');
  expect(placeOf(own)).toBe('services/gateway/app.ts');
});

test('self time is the time sampled in a function, without idle time', () => {
  const profile = {
    startTime: 0,
    endTime: 10,
    nodes: [
      { id: 1, callFrame: frame('(idle)', '') },
      { id: 2, callFrame: frame('work', own) },
      { id: 3, callFrame: frame('', own) },
    ],
    samples: [1, 2, 2, 3],
    timeDeltas: [9_000, 1_000, 2_000, 500],
  };
  expect(selfTimes(profile)).toEqual([
    { what: 'work in services/gateway/app.ts', amount: 3 },
    { what: '(line 5) in services/gateway/app.ts', amount: 0.5 },
  ]);
  expect(selfTimes(profile, 'place')).toEqual([{ what: 'services/gateway/app.ts', amount: 3.5 }]);
});

test('allocations of a function are summed over all its callers', () => {
  const leaf = { callFrame: frame('read', own), selfSize: 10, id: 2, children: [] };
  const head = { callFrame: frame('(root)', ''), selfSize: 0, id: 1, children: [leaf, { ...leaf, id: 3 }] };
  expect(allocations({ head })).toEqual([{ what: 'read in services/gateway/app.ts', amount: 20 }]);
});
