import { BatchEntry } from './batch.ts';

test('an entry of a preview keeps the verdict of every role, whatever its id', () => {
  const json = `{"account":"0x${'a1'.repeat(20)}","before":{"__proto__":true,"constructor":false,"vip":true}}`;
  expect(JSON.stringify(BatchEntry.parse(JSON.parse(json)))).toBe(json);
});

test.each([null, [], [true], 'vip', { vip: 'yes' }, { vip: null }])('verdicts are no %j', (before) => {
  expect(BatchEntry.safeParse({ account: `0x${'a1'.repeat(20)}`, before }).success).toBe(false);
});
