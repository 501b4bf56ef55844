import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { makeAccountBytes, startCountingBytes } from '#shared/fairness/account-bytes.ts';
import { type Admitter, makeAdmitter } from '#shared/stores/checks/admit.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import {
  A_LOCAL_CHECK,
  type RunningGateway,
  type TestApp,
  testGateways,
} from '../../support/systems/start-gateway.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: two gateway processes share one Redis, and clients send far more than their limits.
// Nothing consumes the lanes here: the answers alone show how much was accepted.

const stores = testStores(6);
const A_POLL_CHECK = { ...A_LOCAL_CHECK, async: true };
const FLOOD_MS = 3_500;
const TICK_MS = 2;
let admitter: Admitter;
const { gateways, anApp } = testGateways(stores);

const monthTotal = async ({ document }: TestApp): Promise<number> => {
  const [key = ''] = await stores.redis.keys(`quota:{${document.clientId}}:*`);
  return Number(await stores.redis.get(key));
};

beforeAll(() => {
  admitter = makeAdmitter(stores.redis, Date.now);
});

type Flood = {
  /** When each accepted request was admitted, in order: ms of the limiter's clock. */
  readonly instants: readonly number[];
  /** Answers of 503 and 408: on a busy machine the limiter or a body may be late. They may have
   * been charged. */
  readonly indeterminate: number;
};

/** Sends `perSecond` requests a second for 3.5 s over all gateways. */
async function flood(
  perSecond: number,
  send: (gateway: RunningGateway) => Promise<Response>,
): Promise<Flood> {
  const answers: Promise<Response>[] = [];
  const began = performance.now();
  for (let elapsed = 0; elapsed < FLOOD_MS; elapsed = performance.now() - began) {
    while (answers.length < (elapsed / 1_000) * perSecond) {
      const gateway = gateways[answers.length % gateways.length];
      if (gateway) answers.push(send(gateway));
    }
    await delay(TICK_MS);
  }
  const done = await Promise.all(answers);
  for (const response of done) expect([200, 202, 408, 429, 503]).toContain(response.status);
  const instants = done
    .filter(({ ok }) => ok)
    .map(({ headers }) => Number(headers.get('rolecall-accepted-at')))
    .sort((x, y) => x - y);
  return { instants, indeterminate: done.filter(({ status }) => status === 503 || status === 408).length };
}

/** The shortest time between two accepted requests that are `limit` apart. */
const leastSpan = (instants: readonly number[], limit: number): number =>
  Math.min(...instants.slice(limit).map((at, index) => at - (instants[index] ?? 0)));

describe('the limits over two gateways', () => {
  it.each([
    ['free', 10],
    ['paid', 15],
    ['enterprise', 25],
  ] as const)(
    'let a %s app through at most %i times in any second, under 20 times as many',
    async (tier, limit) => {
      const floodOne = async (): Promise<number> => {
        const app = await anApp({ tier, requestsPerSecond: limit });
        const { instants, indeterminate } = await flood(20 * limit, (gateway) =>
          gateway.post(app, A_POLL_CHECK),
        );
        expect(leastSpan(instants, limit)).toBeGreaterThan(1_000);
        const charged = await monthTotal(app);
        expect(charged).toBeGreaterThanOrEqual(instants.length);
        expect(charged).toBeLessThanOrEqual(instants.length + indeterminate);
        return instants.length;
      };
      // A busy machine may stall for a second of one flood, but not of each.
      await waitUntil(
        'a flood of which as much was accepted as may be',
        async () => (await floodOne()) >= limit * Math.floor(FLOOD_MS / 1_100),
      );
    },
  );

  it('let polls through at five times the rate, from a separate bucket that costs no quota', async () => {
    const app = await anApp({ tier: 'free', requestsPerSecond: 10 });
    const { instants } = await flood(200, (gateway) => gateway.get(app, '/access-control/chains'));
    expect(leastSpan(instants, 50)).toBeGreaterThan(1_000);
    let tries = 0;
    await waitUntil('a check to be accepted', async () => {
      tries += 1;
      return (await gateways[0].post(app, A_POLL_CHECK)).status === 202;
    });
    const charged = await monthTotal(app);
    expect(charged).toBeGreaterThanOrEqual(1);
    expect(charged).toBeLessThanOrEqual(tries);
  });

  it('accept exactly the rest of the monthly quota, of 500 requests at once', async () => {
    const app = await anApp({ requestsPerMonth: 1_000 });
    const { clientId, accountId, limits } = app.document;
    const spent = { clientId, accountId, limits, bucket: 'per-second' as const, check: { seed: '1.00' } };
    for (let hundred = 0; hundred < 9; hundred += 1)
      await Promise.all(Array.from({ length: 100 }, () => admitter.admit(spent)));
    const answers = await Promise.all(
      Array.from({ length: 500 }, async (_, index) => gateways[index % 2 ? 1 : 0].post(app, A_POLL_CHECK)),
    );
    const answered = (status: number) => answers.filter((response) => response?.status === status);
    const [accepted, refused, indeterminate] = [answered(202), answered(429), answered(503)];
    // A busy machine may send a request too slowly, which has no effect.
    const slow = answered(408);
    expect(accepted.length + refused.length + indeterminate.length + slow.length).toBe(500);
    expect(accepted.length).toBeLessThanOrEqual(100);
    expect(accepted.length).toBeGreaterThanOrEqual(100 - indeterminate.length);
    expect(await refused[0]?.json()).toMatchObject({
      code: 'monthly-quota-exceeded',
      'violated-policies': ['per-month'],
    });
    const charged = await monthTotal(app);
    expect(charged).toBeGreaterThanOrEqual(900 + accepted.length);
    expect(charged).toBeLessThanOrEqual(1_000);
  });

  it('charge all checks of a batch or none, and refund them all', async () => {
    const app = await anApp({ requestsPerMonth: 1_000 });
    const { clientId, accountId, limits } = app.document;
    const admit = (cost: number) =>
      admitter.admit({
        clientId,
        accountId,
        limits,
        bucket: 'per-second',
        isPaid: true,
        check: { seed: '1.00', cost },
      });
    const answers = await Promise.all([700, 400, 300, 1].map(admit));
    expect(answers.map(({ outcome, month }) => [outcome, month?.remaining])).toEqual([
      ['fresh', 300],
      ['quota-exceeded', 300],
      ['fresh', 0],
      ['quota-exceeded', 0],
    ]);
    const month = answers[0]?.month?.name ?? '';
    await admitter.release({ clientId, month, count: 700 });
    expect(await monthTotal(app)).toBe(300);
    await admitter.release({ clientId, month, count: 700 });
    expect(await monthTotal(app)).toBe(0);
  });

  it('give back the bytes of what was not written, and no more than was counted', async () => {
    const accountId = `acc_${randomUUID()}`;
    const app = await anApp({ requestsPerMonth: 1_000 }, { accountId });
    const { clientId, limits } = app.document;
    const bytesOfDay = async () => (await makeAccountBytes(stores.redis).read(clientId)).bytes;
    const { month, nowMs: atMs } = await admitter.admit({
      ...{ clientId, accountId, limits, bucket: 'per-second' },
      check: { seed: '1.00', bytes: 900 },
    });
    expect(await bytesOfDay()).toBe(900);
    const charge = { clientId, month: month?.name ?? '' };
    await admitter.release({ ...charge, unwritten: { accountId, atMs, bytes: 400 } });
    expect(await bytesOfDay()).toBe(500);
    await admitter.release({ ...charge, unwritten: { accountId, atMs: atMs - DAY_MS, bytes: 400 } });
    expect(await bytesOfDay()).toBe(500);
    await admitter.release({ ...charge, unwritten: { accountId, atMs, bytes: 9_000 } });
    expect(await bytesOfDay()).toBe(0);
  });

  it('refuse checks of all apps of an account until midnight once it has used its bytes of the day', async () => {
    const limits = { requestsPerMonth: 1_000 };
    const accountId = `acc_${randomUUID()}`;
    const [first, second] = [await anApp(limits, { accountId }), await anApp(limits, { accountId })];
    const [gateway] = gateways;
    expect((await gateway?.post(first, A_POLL_CHECK))?.status).toBe(202);
    const bytes = startCountingBytes(stores.redis, makeSilentLogger());
    // The first app's bytes were refunded: 32 MiB are the least of any account.
    bytes.add(first.document.clientId, 32 * 1024 * 1024);
    await bytes[Symbol.asyncDispose]();
    const refused = await gateway?.post(second, A_POLL_CHECK);
    expect(refused?.status).toBe(429);
    expect(await refused?.json()).toMatchObject({
      code: 'rate-limited',
      'violated-policies': ['bytes-per-day'],
    });
    const retryAfterMs = Number(refused?.headers.get('retry-after')) * 1_000;
    expect((Date.now() + retryAfterMs) % DAY_MS).toBeLessThan(60_000);
    expect(refused?.headers.get('rolecall-accepted-at')).toBeNull();
    expect(await monthTotal(second)).toBe(0);
  });

  it('charge rate but no quota for an invalid request and for a replay', async () => {
    const app = await anApp({ tier: 'free', requestsPerSecond: 1_000 });
    const headers = { 'idempotency-key': randomUUID() };
    const [gateway] = gateways;
    const statuses = [
      await gateway?.post(app, A_POLL_CHECK, headers),
      await gateway?.post(app, A_POLL_CHECK, headers),
      await gateway?.post(app, { ...A_POLL_CHECK, account: 'x' }),
      await gateway?.post(app, A_POLL_CHECK, { 'content-type': 'text/plain' }),
    ].map((response) => [response?.status, response?.headers.has('rolecall-accepted-at')]);
    expect(statuses).toEqual([
      [202, true],
      [202, true],
      [422, true],
      [415, true],
    ]);
    expect(await monthTotal(app)).toBe(1);
  });
});
