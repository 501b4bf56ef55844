import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Draw } from '#shared/redis/throttle.ts';
import { serveOnLoopback } from '../../test/support/serve-on-loopback.ts';
import { makeApp } from './app.ts';

const ACCOUNT: Account = {
  accountId: 'acc_1',
  version: 1,
  email: 'a@example.com',
  tier: 'free',
  createdAt: new Date(0).toISOString(),
};
const WATCHES = '/api/apps/app_1/watches';

/** A portal whose list of watches takes a moment; `running` counts those lists at a time. */
function makePortal(take: (draws: readonly Draw[]) => Promise<void> = async () => undefined) {
  const running = { now: 0, most: 0 };
  const app = makeApp({
    handlers: {
      async listWatches() {
        running.now += 1;
        running.most = Math.max(running.most, running.now);
        await delay(20);
        running.now -= 1;
        return { watches: [] };
      },
    } as never,
    sessions: { find: async () => ACCOUNT } as never,
    requirePermission: async () => ACCOUNT,
    throttle: { take },
    origin: undefined,
    gatewayPublicUrl: 'http://127.0.0.1:1',
    sessionMsMax: 1_000,
    trustedProxies: [],
    inFlightMax: 512,
    metrics: {
      requestSeconds: { startTimer: () => () => 0 },
      inFlight: { set: () => undefined },
      forwardedForIgnored: { inc: () => undefined },
    } as never,
    log: { error: () => undefined, warn: () => undefined, info: () => undefined } as never,
  });
  return { app, running };
}

const ask = (url: string) => fetch(url + WATCHES, { headers: { cookie: 'rolecall_session=token' } });

test('reads of one account beyond its budget are answered 429 with Retry-After', async () => {
  const drawn: string[] = [];
  const { app } = makePortal(async ([draw]) => {
    drawn.push(`${draw?.budget.name} ${draw?.owner}`);
    throw new ServiceError('rate-limited', 'too many attempts', { retryAfterMs: 30_000 });
  });
  await using server = await serveOnLoopback(app);
  const { status, headers } = await ask(server.url);
  expect([status, headers.get('retry-after'), drawn]).toEqual([429, '30', ['reads-minute acc_1']]);
});

test('at most eight heavy reads run at a time, and the others wait', async () => {
  const { app, running } = makePortal();
  await using server = await serveOnLoopback(app);
  const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await ask(server.url)).status));
  expect([new Set(statuses), running.most]).toEqual([new Set([200]), 8]);
});
