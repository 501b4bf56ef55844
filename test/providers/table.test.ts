import { healthy } from './all-profiles.ts';
import type { Outcome } from './run-profile.ts';
import { brokenOf, type Row } from './table.ts';

const KEPT: Outcome = {
  lost: [],
  unread: [],
  wrong: [],
  failed: { warmUp: [], ordinary: [], hostile: [] },
  checkCount: { warmUp: 10, ordinary: 10, hostile: 10 },
  callCount: 10,
  batchCount: 5,
  states: ['live'],
};
const aRow = (alone: Partial<Outcome>, beside: Partial<Outcome> = {}): Row => ({
  profile: healthy(250),
  blockTimeMs: 250,
  quorum: 1,
  beside: { ...KEPT, ...beside },
  alone: { ...KEPT, ...alone },
  healthy: { beside: KEPT, alone: KEPT },
});
const failedBy = (hostile: number) => ({
  failed: { ...KEPT.failed, hostile: Array<string>(hostile).fill('head: rpc-unavailable') },
});

test('a provider that keeps every promise has nothing to report', () => {
  expect(brokenOf(aRow({ callCount: 20 }))).toEqual([]);
});

test.each<[string, Partial<Outcome>, Partial<Outcome>]>([
  ['lost', { lost: ['a transfer'] }, {}],
  ['unread', {}, { unread: ['a transfer'] }],
  ['wrong', { wrong: ['a verdict'] }, {}],
  ['failed beside a healthy endpoint', {}, failedBy(1)],
  ['failed through the hostile client', failedBy(1), {}],
  ['too many calls', { callCount: 21 }, {}],
])('reports what is broken as: %s', (what, alone, beside) => {
  const [found] = brokenOf(aRow(alone, beside));
  expect(found).toMatch(new RegExp(`^${what}: 1 `));
});
