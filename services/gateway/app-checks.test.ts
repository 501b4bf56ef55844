import { ServiceError } from '#shared/errors.ts';
import type { Claim } from '#shared/stores/checks/admit.ts';
import { A_CHECK, API_KEY, anAdmission, aResult, NOW_MS } from '../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../test/support/fakes/fake-gateways.ts';

/** The gateway's HTTP surface over fakes: every answer of the contract that needs no real Kafka or
 * Redis. */

const start = fakeGateways();

describe('a check', () => {
  it('is acknowledged in poll mode after the broker has it, with the address to poll', async () => {
    const gateway = await start();
    const response = await gateway.post({ ...A_CHECK, async: true });
    expect(response.status).toBe(202);
    const { requestId } = (await response.json()) as { requestId: string };
    expect(requestId).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(response.headers.get('location')).toBe(`/access-control/check-roles/responses/${requestId}`);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(gateway.published).toEqual([
      expect.objectContaining({
        requestId,
        clientId: 'app_1',
        delivery: { mode: 'poll' },
        rules: [{ ...A_CHECK.rules[0], minToken: '1' }],
        onUndetermined: 'omit',
        consistency: { blockTag: 'latest', minBlock: {} },
        acceptedAt: new Date(NOW_MS).toISOString(),
        retainUntil: new Date(NOW_MS + 72 * 3_600_000).toISOString(),
        chargedMonth: '2026-11',
      }),
    ]);
  });

  it('is in webhook mode if it has a callback URL, whatever async says', async () => {
    const gateway = await start();
    for (const async of [true, false, undefined]) {
      const response = await gateway.post({ ...A_CHECK, callbackUrl: 'https://hooks.example.com/x', async });
      expect(response.status).toBe(202);
    }
    const deliveries = gateway.published.map(({ delivery }) => delivery);
    expect(deliveries).toEqual(
      Array(3).fill({ mode: 'webhook', callbackUrl: 'https://hooks.example.com/x' }),
    );
  });

  it('is answered in sync mode with the stored bytes', async () => {
    const gateway = await start({
      syncDeadlineMs: 600_000,
      publish: async ({ requestId }) => gateway.complete(requestId, aResult(requestId)),
    });
    const response = await gateway.post(A_CHECK);
    expect(response.status).toBe(200);
    const { requestId, delivery, deadlineAt } = gateway.published[0] ?? {};
    expect(await response.text()).toBe(aResult(requestId ?? ''));
    expect(delivery).toEqual({ mode: 'sync', replyChannel: 'results:test' });
    expect(Date.parse(deadlineAt ?? '')).toBeLessThanOrEqual(NOW_MS + 600_000);
    expect(Date.parse(deadlineAt ?? '')).toBeGreaterThan(NOW_MS);
  });

  it('answers 504 in sync mode after the deadline, with an id that stays pollable', async () => {
    const gateway = await start({ syncDeadlineMs: 30 });
    const response = await gateway.post(A_CHECK);
    expect(response.status).toBe(504);
    const problem = await problemOf(response);
    expect(problem).toMatchObject({ code: 'deadline-exceeded', requestId: gateway.published[0]?.requestId });
    expect(problem['instance']).toBe(`/requests/${problem['requestId']}`);
    expect((await gateway.get(`/access-control/check-roles/responses/${problem['requestId']}`)).status).toBe(
      202,
    );
  });

  it('is answered in sync mode by the last read before the deadline if the notice is lost', async () => {
    const gateway = await start({
      syncDeadlineMs: 50,
      publish: async ({ requestId }) => gateway.storeSilently(requestId, aResult(requestId)),
    });
    expect((await gateway.post(A_CHECK)).status).toBe(200);
  });

  const PASSING = { ruleIndex: 0, roleId: 'holder', code: 'rpc-unavailable', retryable: true };
  const FOR_GOOD = { ruleIndex: 1, roleId: 'vip', code: 'contract-not-found', retryable: false };
  const TWO_RULES = { ...A_CHECK, rules: [A_CHECK.rules[0], { ...A_CHECK.rules[0], roleId: 'vip' }] };
  const startFailing = async (errors: readonly unknown[]) => {
    const gateway = await start({
      publish: async ({ requestId }) =>
        gateway.complete(requestId, aResult(requestId, { status: 'failed', roles: [], errors })),
    });
    return gateway;
  };

  it.each([
    ['one retryable error is refunded', [PASSING], 10_000],
    ['errors of which one is retryable is charged', [PASSING, FOR_GOOD], 9_999],
  ])('in sync mode with no decision and %s: 503 with the errors', async (_, errors, left) => {
    const gateway = await startFailing(errors);
    const response = await gateway.post(errors.length === 1 ? A_CHECK : TWO_RULES);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('ratelimit')).toMatch(`"per-month";r=${left};`);
    expect(await problemOf(response)).toMatchObject({
      code: 'evaluation-unavailable',
      errors,
      requestId: gateway.published[0]?.requestId,
    });
  });

  it('answers 504 in sync mode, charged, if the last read finds that nothing was decided until the deadline', async () => {
    const gateway = await start({
      syncDeadlineMs: 50,
      publish: async ({ requestId, deadlineAt }) => {
        const content = { status: 'failed', roles: [], errors: [PASSING], evaluatedAt: deadlineAt };
        gateway.storeSilently(requestId, aResult(requestId, content));
      },
    });
    const response = await gateway.post(A_CHECK);
    expect(response.status).toBe(504);
    expect(response.headers.get('ratelimit')).toMatch(/"per-month";r=9999;/);
  });

  it.each([
    ['a contract that is not there', FOR_GOOD],
    ['a block whose state is gone', { ...FOR_GOOD, code: 'block-unavailable' }],
  ])(
    'in sync mode that would fail again for %s is 200 with the failed result, charged, without Retry-After',
    async (_, fault) => {
      const gateway = await startFailing([fault]);
      const response = await gateway.post(A_CHECK);
      expect(response.status).toBe(200);
      expect(response.headers.get('retry-after')).toBeNull();
      expect(response.headers.get('ratelimit')).toMatch(/"per-month";r=9999;/);
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ status: 'failed', roles: [], errors: [fault] });
      const { requestId } = gateway.published[0] ?? {};
      const polled = await gateway.get(`/access-control/check-roles/responses/${requestId}`);
      expect(await polled.text()).toBe(text);
    },
  );

  it.each([
    ['that would fail again replays its failed result', [FOR_GOOD], 200],
    ['that may succeed the next time runs again', [PASSING], 503],
  ])('in sync mode %s when it is sent again under its idempotency key', async (_, errors, status) => {
    let claim: Claim | undefined;
    const gateway = await start({
      admit: async (request) => {
        const isReplay = claim !== undefined && request.check?.claim?.replaces === undefined;
        if (isReplay) return anAdmission(request, { outcome: 'published', claim });
        return anAdmission(request);
      },
      publish: async ({ requestId }) =>
        gateway.complete(requestId, aResult(requestId, { status: 'failed', roles: [], errors })),
    });
    const headers = { 'idempotency-key': 'once' };
    const first = await gateway.post(A_CHECK, headers);
    const { requestId } = gateway.published[0] ?? {};
    claim = { atMs: NOW_MS, seed: 'seed', requestId, month: '2026-11' };
    const second = await gateway.post(A_CHECK, headers);
    expect([first.status, second.status]).toEqual([status, status]);
    expect(second.headers.get('idempotency-replayed')).toBe(status === 200 ? 'true' : null);
    expect(gateway.published).toHaveLength(status === 200 ? 1 : 2);
    if (status === 200) expect(await second.text()).toBe(await first.text());
  });

  it.each([
    ['too late runs again', 60_000, 2],
    ['in time is replayed', 1, 1],
  ])(
    'in sync mode that denies what it could not read, and decided nothing %s under its idempotency key',
    async (_, tookMs, runs) => {
      const denied = { roles: [{ id: 'gold', granted: false }], errors: [PASSING] };
      const evaluatedAt = new Date(NOW_MS + tookMs).toISOString();
      let claim: Claim | undefined;
      const gateway = await start({
        admit: async (request) =>
          claim !== undefined && request.check?.claim?.replaces === undefined
            ? anAdmission(request, { outcome: 'published', claim })
            : anAdmission(request),
        publish: async ({ requestId }) =>
          gateway.complete(requestId, aResult(requestId, { ...denied, evaluatedAt })),
      });
      const headers = { 'idempotency-key': 'once' };
      const body = { ...A_CHECK, onUndetermined: 'deny' };
      await gateway.post(body, headers);
      const { requestId } = gateway.published[0] ?? {};
      claim = { atMs: NOW_MS, seed: 'seed', requestId, month: '2026-11' };
      await gateway.post(body, headers);
      expect(gateway.published).toHaveLength(runs);
    },
  );

  it.each([
    ['as long as its result is kept is published again under its id', 71, true],
    ['longer ago than its result is kept is accepted anew', 73, false],
  ])('that was claimed %s', async (_, hours, isSame) => {
    const claim = {
      ...{ atMs: NOW_MS - hours * 3_600_000, seed: `1.${'00'.repeat(10)}`, requestId: undefined },
      month: '2026-11',
    };
    const gateway = await start({
      admit: async (request) =>
        request.check?.claim?.replaces === claim.seed
          ? anAdmission(request)
          : anAdmission(request, { outcome: 'taken-over', claim }),
    });
    const response = await gateway.post({ ...A_CHECK, async: true }, { 'idempotency-key': 'once' });
    expect(response.status).toBe(202);
    expect(response.headers.get('idempotency-replayed')).toBe(isSame ? 'true' : null);
    const acceptedAtMs = isSame ? claim.atMs : NOW_MS;
    expect(gateway.published).toMatchObject([{ acceptedAt: new Date(acceptedAtMs).toISOString() }]);
    const { requestId } = gateway.published[0] ?? {};
    const polled = await gateway.get(`/access-control/check-roles/responses/${requestId}`);
    expect(polled.status).toBe(202);
  });

  it.each([
    ['after a wait', { ...A_CHECK, async: true }, 'claimed', false, 9_999],
    ['after a result that may be retried', A_CHECK, 'published', false, 9_999],
    ['and is refunded', A_CHECK, 'published', true, 10_000],
  ] as const)(
    'that a retry with its key begins anew %s carries the month after it, and the rate of its entry',
    async (_, check, outcome, fails, left) => {
      const claim = { atMs: NOW_MS, seed: 'seed', requestId: 'req_1', month: '2026-11' };
      const month = { name: '2026-11', limit: 10_000, remaining: 10_000, resetMs: 864_000_000 };
      const gateway = await start({
        admit: async (request) =>
          request.isPaid
            ? anAdmission(request, {
                nowMs: NOW_MS + 40,
                second: { limit: 10, remaining: 10, resetMs: 1_000 },
                month: { ...month, remaining: 9_999 },
              })
            : anAdmission(request, { outcome, claim, month }),
        async publish({ requestId }) {
          if (fails) throw new ServiceError('broker-unavailable', 'away');
          gateway.complete(requestId, aResult(requestId));
        },
      });
      gateway.storeSilently('req_1', aResult('req_1', { status: 'failed', roles: [], errors: [PASSING] }));
      const { headers } = await gateway.post(check, { 'idempotency-key': 'once' });
      expect(headers.get('ratelimit')).toBe(`"per-second";r=9;t=1, "per-month";r=${left};t=864000`);
      expect(headers.get('rolecall-accepted-at')).toBe(String(NOW_MS));
    },
  );

  it('reports whether it was charged if it denies an unreadable rule', async () => {
    const roles = [{ id: 'holder', granted: false }];
    for (const [error, left] of [
      [PASSING, 10_000],
      [{ ...FOR_GOOD, ruleIndex: 0 }, 9_999],
    ] as const) {
      const gateway = await start({
        publish: async ({ requestId }) =>
          gateway.complete(requestId, aResult(requestId, { roles, errors: [error] })),
      });
      const response = await gateway.post({ ...A_CHECK, onUndetermined: 'deny' });
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit')).toMatch(`"per-month";r=${left};`);
    }
  });

  it('a role named "status":"failed" does not make a result a failed one', async () => {
    const roles = [{ id: '"status":"failed"', granted: true }];
    const gateway = await start({
      publish: async ({ requestId }) => gateway.complete(requestId, aResult(requestId, { roles })),
    });
    expect((await gateway.post(A_CHECK)).status).toBe(200);
  });

  it.each([
    ['broker-unavailable', 1],
    ['overloaded', 1],
    ['publish-unknown', 0],
  ] as const)('that fails with %s is 503, its charge refunded %i times', async (code, releaseCount) => {
    const gateway = await start({ publish: () => Promise.reject(new ServiceError(code, 'away')) });
    for (const body of [A_CHECK, { ...A_CHECK, async: true }]) {
      const response = await gateway.post(body);
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('1');
      expect(response.headers.get('ratelimit')).toMatch(`"per-month";r=${9_999 + releaseCount};`);
      const expected = code === 'overloaded' ? 'overloaded' : 'dependency-unavailable';
      expect((await problemOf(response))['code']).toBe(expected);
    }
    expect(gateway.released).toHaveLength(2 * releaseCount);
    const given = gateway.released as { readonly unwritten: { readonly bytes: number } }[];
    const counted = gateway.admitted.flatMap(({ check }) => check?.bytes ?? []);
    expect(given.map(({ unwritten }) => unwritten.bytes)).toEqual(releaseCount === 0 ? [] : counted);
    expect(gateway.waiters.count()).toBe(0);
  });

  it('is never accepted while the limiter is away', async () => {
    const gateway = await start({
      admit: () => Promise.reject(new ServiceError('store-unavailable', 'away')),
    });
    for (const body of [A_CHECK, { ...A_CHECK, async: true }, 'not json']) {
      const response = await gateway.post(body);
      expect(response.status).toBe(503);
      expect(response.headers.get('ratelimit')).toBeNull();
      expect((await problemOf(response))['code']).toBe('dependency-unavailable');
    }
    expect(gateway.published).toHaveLength(0);
  });

  it('is refused before any work when too many are in flight', async () => {
    const gateway = await start({ inFlightMax: 1, syncDeadlineMs: 60_000 });
    const first = gateway.post(A_CHECK);
    while (gateway.waiters.count() === 0) await new Promise((resolve) => setImmediate(resolve));
    const second = await gateway.post(A_CHECK);
    expect(second.status).toBe(503);
    expect((await problemOf(second))['code']).toBe('overloaded');
    gateway.waiters[Symbol.dispose]();
    expect((await first).status).toBe(504);
  });

  it('is refused when its own lane is too far behind, and not when the other one is', async () => {
    const gateway = await start({ isOverloaded: (lane) => lane === 'bulk', syncDeadlineMs: 20 });
    const bulk = await gateway.post({ ...A_CHECK, async: true });
    expect(bulk.status).toBe(503);
    expect((await problemOf(bulk))['code']).toBe('overloaded');
    expect(gateway.admitted.map(({ check }) => check)).toEqual([undefined]);
    expect((await gateway.post(A_CHECK)).status).toBe(504);
  });

  it('is not waited for any more when its client has gone', async () => {
    const gateway = await start({ syncDeadlineMs: 60_000 });
    const abort = new AbortController();
    const gone = fetch(`${gateway.url}/access-control/check-roles`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(A_CHECK),
      signal: abort.signal,
    }).catch(() => 'gone');
    while (gateway.waiters.count() === 0) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    expect(await gone).toBe('gone');
    while (gateway.waiters.count() > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});
