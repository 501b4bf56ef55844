import { LOGGED_ROLES_MAX, roleTagOf } from '../checks/check-log.ts';
import { BUCKET_ENDS_MS, bucketOf, countCheck } from './day-figures.ts';

const aMessage = (result: unknown, acceptedAt = '2026-11-21T23:59:59.990Z') => ({
  requestId: 'r1',
  acceptedAt,
  keyId: 'key_1',
  mode: 'poll' as const,
  startedAt: '2026-11-21T23:59:59.993Z',
  request: { partition: 3, offset: 17 },
  resultJson: JSON.stringify(result),
});

test('a check counts on the day of its acceptance, by mode, status and duration', () => {
  const counted = countCheck(
    aMessage({
      status: 'completed',
      roles: [
        { id: 'a', granted: true },
        { id: '"granted":true', granted: false },
      ],
      errors: [
        { code: 'internal', roleId: 'a', retryable: true },
        { code: 'internal', roleId: 'c', retryable: true },
      ],
      evaluatedAt: '2026-11-22T00:00:00.000Z',
    }),
  );
  expect(counted).toEqual({
    date: '2026-11-21',
    figures: {
      'poll.completed.5': 1,
      granted: 1,
      denied: 1,
      undetermined: 2,
      'undetermined.service': 2,
      'key.key_1': 1,
    },
    logged: {
      requestId: 'r1',
      mode: 'poll',
      status: 'completed',
      acceptedAtMs: Date.parse('2026-11-21T23:59:59.990Z'),
      durationMs: 10,
      granted: 1,
      denied: 1,
      undetermined: 2,
      codes: ['internal'],
      keyId: 'key_1',
      roleTags: ['a', '"granted":true', 'c'].map(roleTagOf),
      request: { partition: 3, offset: 17 },
      waitedMs: 3,
    },
  });
});

test('a check whose wallet is not proved counts and is logged, without a role', () => {
  const error = { account: '0x', code: 'sign-in-refused', message: '', retryable: false, chainId: 1 };
  const result = { status: 'failed', roles: [], errors: [error], evaluatedAt: '2026-11-22T00:00:00.000Z' };
  expect(countCheck(aMessage(result))).toMatchObject({
    figures: { 'poll.failed.5': 1, undetermined: 1, 'undetermined.client': 1 },
    logged: { status: 'failed', undetermined: 1, codes: ['sign-in-refused'], roleTags: [] },
  });
});

test('an undetermined rule counts as the fault of the rule if another try would not decide it, else of the service', () => {
  const error = (code: string, retryable: boolean) => ({ code, roleId: 'a', retryable });
  const errors = [
    error('contract-not-found', false),
    error('block-unavailable', false),
    error('min-block-not-reached', true),
    error('block-unavailable', true),
    error('rpc-timeout', true),
  ];
  const counted = countCheck(
    aMessage({ status: 'failed', roles: [], errors, evaluatedAt: '2026-11-22T00:00:00.000Z' }),
  );
  expect(counted?.figures).toMatchObject({
    undetermined: 5,
    'undetermined.client': 3,
    'undetermined.service': 2,
  });
});

test('a check of many roles is logged with a bounded number of them, each once', () => {
  const roles = Array.from({ length: 1_000 }, (_, i) => ({ id: `role-${i >> 1}`, granted: true }));
  const result = { status: 'completed', roles, errors: [], evaluatedAt: '2026-11-22T00:00:00.000Z' };
  const tags = countCheck(aMessage(result))?.logged.roleTags;
  expect(tags).toEqual(Array.from({ length: LOGGED_ROLES_MAX }, (_, i) => roleTagOf(`role-${i}`)));
});

test('a result that is none changes no counter', () => {
  expect(countCheck(aMessage({ n: 1 }))).toBeUndefined();
});

test('a duration falls into the first bucket that ends at it or later', () => {
  expect(bucketOf(-3)).toBe(0);
  expect(bucketOf(1)).toBe(0);
  expect(bucketOf(1.5)).toBe(1);
  expect(bucketOf(Number.MAX_SAFE_INTEGER)).toBe(BUCKET_ENDS_MS.length);
});
