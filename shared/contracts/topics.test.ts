import { RETENTION_DAYS } from './retention.ts';
import { ALL_TOPICS } from './topics.ts';

test('every record that waits for a process is kept as long as LIMITATIONS.md promises', () => {
  const kept = ALL_TOPICS.filter(({ cleanup }) => cleanup === 'delete');
  const leastMs = RETENTION_DAYS.checks.min * 86_400_000;
  expect(kept.filter(({ retentionMs = Infinity }) => retentionMs < leastMs).map(({ name }) => name)).toEqual(
    [],
  );
});
