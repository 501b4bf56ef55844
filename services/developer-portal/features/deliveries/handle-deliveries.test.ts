import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Draw } from '#shared/fairness/throttle.ts';
import { problemOf } from '#shared/http/problem.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Dependencies } from '../../dependencies.ts';
import { makeDeliveryHandlers } from './handle-deliveries.ts';

const FAILED_COUNT = 100_000;
const WAIT_MS = 3_600_000;

/** The handlers of an app with the longest list of failed webhooks. All are answered 410 again at
 * once. */
function makeHandlers(sentCount = FAILED_COUNT) {
  const used = new Map<string, number>();
  const windows = new Map<string, number>();
  let resentCount = 0;
  const take = async (draws: readonly Draw[]) => {
    for (const { budget, owner, count = 1 } of draws) {
      const key = `${budget.name} ${owner}`;
      const next = (used.get(key) ?? 0) + count;
      if (next > budget.countMax)
        throw new ServiceError('rate-limited', 'too many attempts', { retryAfterMs: WAIT_MS });
      used.set(key, next);
      windows.set(budget.name, budget.windowMs);
    }
  };
  const refund = async (draws: readonly Draw[]) => {
    for (const { budget, owner, count = 1 } of draws) {
      const key = `${budget.name} ${owner}`;
      used.set(key, (used.get(key) ?? 0) - count);
    }
  };
  const unused = () => Promise.reject(new Error('not asked for'));
  const handlers = makeDeliveryHandlers(
    partially<Dependencies>({
      deliveries: { page: unused, read: unused },
      results: { read: unused },
      resends: {
        resend: unused,
        async resendFailed(_clientId, _sinceMs, { charge } = {}) {
          await charge?.(FAILED_COUNT);
          resentCount += sentCount;
          return { count: sentCount };
        },
      },
      publish: unused,
      writes: { record: async () => undefined },
      throttle: { take, refund },
      requireRoom: async () => undefined,
      readReceiverAnswer: unused,
      config: { callback: { allowHttp: false, allowedCidrs: [] } },
      now: () => Date.UTC(2026, 10, 22),
    }),
  );
  return { handlers, windows, resentCount: () => resentCount };
}

const call = {
  app: { clientId: 'app_1' } as ClientApp,
  body: { since: '2026-11-21T00:00:00.000Z' },
  account: { email: 'a@example.com' } as Account,
  owner: { accountId: 'acc_1' } as Account,
  idempotencyKey: 'once',
  address: '',
  visitor: { accountId: '', clientId: '' },
  browser: '',
  token: undefined,
  setSession: async () => undefined,
  once: async (fresh: unknown) => fresh,
  param: () => 'app_1',
  query: {},
  upload: undefined,
} as never;

test('an app resends its longest list of failed webhooks three times a day, and then gets 429', async () => {
  const { handlers, windows, resentCount } = makeHandlers();
  for (let i = 0; i < 3; i += 1) expect(await handlers.resendFailed(call)).toEqual({ count: FAILED_COUNT });
  const problem = problemOf(await handlers.resendFailed(call).catch((error: unknown) => error));
  expect([problem.status, problem.code, problem.headers]).toEqual([
    429,
    'rate-limited',
    { 'retry-after': '3600' },
  ]);
  expect(problem.message).toContain('at most 300000 failed webhooks in 24 hours');
  expect(windows.get('resent-webhooks')).toBe(DAY_MS);
  expect(resentCount()).toBe(300_000);
});

test('a bulk resend is not charged for the webhooks that it did not send', async () => {
  const { handlers, resentCount } = makeHandlers(1_000);
  for (let i = 0; i < 5; i += 1) await handlers.resendFailed(call);
  expect(resentCount()).toBe(5_000);
});
