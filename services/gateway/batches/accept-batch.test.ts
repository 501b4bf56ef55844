import fc from 'fast-check';
import { ServiceError } from '#shared/errors.ts';
import {
  ACCOUNT,
  accountOf,
  accountsOf,
  ENTERPRISE_APP,
  linesOf,
  NDJSON,
  RULES,
  sendSlowly,
} from '../../../test/support/fakes/batch-bodies.ts';
import { anAdmission, type FakeGateway, NOW_MS } from '../../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../../test/support/fakes/fake-gateways.ts';

const start = fakeGateways();

describe('a batch', () => {
  it('is accepted when all parts are published, and charged as a whole', async () => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const entries = [ACCOUNT, { account: ACCOUNT, ref: 'discord:42' }, ...accountsOf(1_200)];
    const response = await gateway.postBatch({ entries, rules: RULES });
    expect(response.status).toBe(202);
    const { requestId, entries: count } = (await response.json()) as { requestId: string; entries: number };
    expect(count).toBe(1_202);
    expect(response.headers.get('location')).toBe(`/access-control/check-roles/batch/${requestId}`);
    expect(gateway.ids.readId(requestId, 'app_1')).toEqual({ issuedAtMs: NOW_MS, lane: 'batch' });
    const parts = [...gateway.parts].sort((a, b) => a.part - b.part);
    expect(
      parts.map(({ part, partCount, firstIndex, entryCount, entries: own }) => [
        part,
        partCount,
        firstIndex,
        entryCount,
        own.length,
      ]),
    ).toEqual([
      [0, 3, 0, 1_202, 500],
      [1, 3, 500, 1_202, 500],
      [2, 3, 1_000, 1_202, 202],
    ]);
    expect(parts[0]?.entries.slice(0, 2)).toEqual([
      { account: ACCOUNT },
      { account: ACCOUNT, ref: 'discord:42' },
    ]);
    expect(parts[0]).toMatchObject({
      requestId,
      clientId: 'app_1',
      delivery: { mode: 'poll' },
      chargedMonth: '2026-11',
      rules: [{ type: 'NATIVE', chainId: 1, roleId: 'holder', minToken: '1' }],
    });
    expect(gateway.admitted.map(({ isPaid, check }) => [isPaid ?? false, check?.cost])).toEqual([
      [false, 1],
      [true, 1_202],
    ]);
    expect(gateway.registered).toMatchObject([
      { requestId, entryCount: 1_202, partCount: 3, roleIds: ['holder'] },
    ]);
  });

  it('carries the rate and the time of its entry in the rate log, and the month after its charge', async () => {
    const gateway = await start({
      admit: async (request) =>
        request.isPaid
          ? anAdmission(request, { nowMs: NOW_MS + 5_000 })
          : anAdmission(request, {
              month: { name: '2026-11', limit: 10_000, remaining: 10_000, resetMs: 864_000_000 },
            }),
    });
    const { status, headers } = await gateway.postBatch({ entries: [ACCOUNT], rules: RULES });
    expect([status, headers.get('rolecall-accepted-at')]).toEqual([202, String(NOW_MS)]);
    expect(headers.get('ratelimit')).toMatch(/"per-month";r=9999;/);
  });

  it('is equal as JSON and as NDJSON, however its bytes arrive', async () => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const head = { rules: RULES, onUndetermined: 'deny', callbackUrl: 'https://hooks.example.com/done' };
    const entries = [
      ACCOUNT,
      { account: accountOf(7), ref: 'é "quoted"' },
      { accounts: accountsOf(2), vaults: [accountOf(9), accountOf(9)] },
    ];
    const headers = { 'idempotency-key': 'a' };
    await gateway.postBatch({ ...head, entries }, headers);
    const text = linesOf(head, entries);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: text.length }), { maxLength: 8 }), async (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), text.length];
        const chunks = at
          .slice(1)
          .map((end, index) => text.slice(at[index], end))
          .filter((chunk) => chunk !== '');
        expect((await sendSlowly(gateway, chunks, { headers })).status).toBe(202);
      }),
      { numRuns: 20 },
    );
    const [first, ...others] = gateway.parts.map(({ requestId: _, ...part }) => part);
    expect(others.length).toBe(20);
    for (const other of others) expect(other).toEqual(first);
    expect(first?.delivery).toEqual({ mode: 'webhook', callbackUrl: 'https://hooks.example.com/done' });
  });

  it('accepts NDJSON without a line feed at its end', async () => {
    const gateway = await start();
    const text = linesOf({ rules: RULES }, [ACCOUNT]).trimEnd();
    expect((await gateway.postBatch(text, NDJSON)).status).toBe(202);
  });

  it('is equal with and without a byte-order mark, CRLF and blank lines', async () => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const entries = [ACCOUNT, { account: accountOf(7), ref: 'a' }];
    const text = linesOf({ rules: RULES }, entries);
    const bodies = [
      text,
      `\ufeff${text.replaceAll('\n', '\r\n')}\r\n`,
      `\r\n${text.replaceAll('\n', '\n\n \t\r\n')}  `,
      `\ufeff\n${text}`,
    ];
    for (const body of bodies) expect((await gateway.postBatch(body, NDJSON)).status).toBe(202);
    const json = `\ufeff${JSON.stringify({ rules: RULES, entries })}\r\n\r\n`;
    expect((await gateway.postBatch(json)).status).toBe(202);
    const [first, ...others] = gateway.parts.map(({ requestId: _, ...part }) => part);
    expect(others).toEqual(Array(4).fill(first));
  });

  it('has a first line as large as JSON, also behind a blank line', async () => {
    const gateway = await start();
    const text = `\n{${' '.repeat(100_000)}"rules":${JSON.stringify(RULES)}}\n"${ACCOUNT}"\n`;
    expect((await gateway.postBatch(text, NDJSON)).status).toBe(202);
  });

  it('names a faulty entry of NDJSON by its index among the entries, blank lines not counted', async () => {
    const gateway = await start();
    const text = `\ufeff\r\n${linesOf({ rules: RULES }, [ACCOUNT])}\n\r\n${linesOf({ account: 'x' }, [])}`;
    const { errors } = await problemOf(await gateway.postBatch(text, NDJSON));
    expect(errors).toMatchObject([{ pointer: '/entries/1/account' }]);
  });

  it('asks for explanations in every part, and has smaller parts for them', async () => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const rules = Array.from({ length: 10 }, (_, index) => ({ ...RULES[0], roleId: `role ${index}` }));
    for (const explain of [undefined, false, true])
      expect((await gateway.postBatch({ entries: accountsOf(600), rules, explain })).status).toBe(202);
    const counts = Map.groupBy(gateway.parts, ({ explain = false }) => explain);
    expect(counts.get(false)).toHaveLength(4);
    expect(counts.get(true)).toHaveLength(3);
    for (const requestId of new Set(gateway.parts.map((part) => part.requestId)))
      expect(
        gateway.parts
          .filter((part) => part.requestId === requestId)
          .reduce((sum, { entries }) => sum + entries.length, 0),
      ).toBe(600);
  });

  it('is refunded if surely no part was written, and its slot is freed', async () => {
    const gateway = await start({
      publishPart: async () => {
        throw new ServiceError('broker-unavailable', 'away');
      },
    });
    const response = await gateway.postBatch({ entries: accountsOf(3), rules: RULES });
    expect(response.status).toBe(503);
    expect(gateway.released).toEqual([{ clientId: 'app_1', month: '2026-11', count: 3 }]);
    expect(gateway.withdrawn).toHaveLength(1);
    expect(gateway.slotsTaken.size).toBe(0);
  });

  it('keeps its charge and its slot if a retry has taken it over, although its own first request wrote no part', async () => {
    const gateway = await start({
      dropClaim: false,
      publishPart: async () => {
        throw new ServiceError('broker-unavailable', 'away');
      },
    });
    const batch = { entries: accountsOf(3), rules: RULES };
    expect((await gateway.postBatch(batch, { 'idempotency-key': 'k' })).status).toBe(503);
    expect([gateway.released, gateway.withdrawn]).toEqual([[], []]);
  });

  it('publishes its last part when all others are acknowledged', async () => {
    const acknowledged: number[] = [];
    const before: number[] = [];
    const gateway = await start({
      app: ENTERPRISE_APP,
      async publishPart({ part, partCount }) {
        if (part === partCount - 1) before.push(...acknowledged);
        await new Promise((next) => setImmediate(next));
        acknowledged.push(part);
      },
    });
    expect((await gateway.postBatch({ entries: accountsOf(3_600), rules: RULES })).status).toBe(202);
    expect(before.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(acknowledged).toHaveLength(8);
  });

  it('is not acknowledged unless it is registered as accepted, and stays charged', async () => {
    const gateway = await start({
      registerBatch: async () => {
        throw new ServiceError('store-unavailable', 'away');
      },
    });
    const response = await gateway.postBatch({ entries: [ACCOUNT], rules: RULES });
    expect(response.status).toBe(503);
    expect((await problemOf(response))['detail']).toContain('Idempotency-Key');
    expect([gateway.parts.length, gateway.released, gateway.withdrawn]).toEqual([1, [], []]);
  });

  it('is refused after it was abandoned if the rest of the monthly quota is too small to charge it again', async () => {
    const gateway: FakeGateway = await start({
      isChargedAgain: false,
      admit: async (request) => {
        const claim = { atMs: NOW_MS, seed: gateway.ids.makeSeed(), requestId: undefined, month: '2026-11' };
        return anAdmission(request, request.check ? { outcome: 'taken-over', claim } : {});
      },
    });
    const response = await gateway.postBatch(
      { entries: [ACCOUNT], rules: RULES },
      { 'idempotency-key': 'k' },
    );
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '864000']);
    expect(await problemOf(response)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      code: 'monthly-quota-exceeded',
      'violated-policies': ['per-month'],
    });
    expect([gateway.parts, gateway.released, gateway.withdrawn]).toEqual([[], [], []]);
  });

  it('stays charged if a part was written, and a retry publishes the same parts under the same id', async () => {
    let isAway = true;
    const claims: string[] = [];
    const gateway = await start({
      app: ENTERPRISE_APP,
      publishPart: async ({ part }) => {
        if (isAway && part > 0) throw new ServiceError('broker-unavailable', 'away');
      },
      admit: async (request) => {
        if (!request.check) return anAdmission(request);
        claims.push(request.check.seed);
        const [seed = ''] = claims;
        const claim = { atMs: NOW_MS, seed, requestId: undefined, month: '2026-11' };
        return anAdmission(request, claims.length > 1 ? { outcome: 'taken-over', claim } : {});
      },
    });
    const send = () =>
      gateway.postBatch({ entries: accountsOf(1_100), rules: RULES }, { 'idempotency-key': 'k' });
    const response = await send();
    expect(response.status).toBe(503);
    expect((await problemOf(response))['detail']).toContain('Idempotency-Key');
    expect(gateway.released).toEqual([]);
    const [written] = gateway.parts.splice(0);
    isAway = false;
    const retried = await send();
    expect(retried.status).toBe(202);
    expect(retried.headers.get('idempotency-replayed')).toBe('true');
    expect(gateway.parts.find(({ part }) => part === 0)).toEqual(written);
    expect(gateway.parts).toHaveLength(3);
    expect(gateway.marked).toHaveLength(1);
  });
});

describe('a batch by a rule set', () => {
  it('carries the resolved rules and their version in every part', async () => {
    const gateway = await start();
    await gateway.send('PUT', '/access-control/rule-sets/vip', { rules: RULES });
    expect((await gateway.postBatch({ entries: [ACCOUNT], ruleSet: 'vip' })).status).toBe(202);
    expect(gateway.parts[0]).toMatchObject({
      rules: [{ roleId: 'holder' }],
      ruleSet: { id: 'vip', version: 1, digest: expect.stringContaining('sha-256=') },
    });
  });

  it('is not published again under its old id once the rule set has changed', async () => {
    const seeds: string[] = [];
    const gateway: FakeGateway = await start({
      admit: async (request) => {
        if (!request.check || request.check.cost === undefined) return anAdmission(request);
        const [seed = ''] = seeds;
        const claim = { atMs: NOW_MS, seed, requestId: undefined, month: '2026-11' };
        return anAdmission(request, { outcome: 'taken-over', claim });
      },
    });
    seeds.push(gateway.ids.makeSeed());
    const requestId = gateway.ids.makeId(seeds[0] ?? '', NOW_MS, 'batch', 'app_1');
    await gateway.send('PUT', '/access-control/rule-sets/vip', { rules: RULES });
    const status = {
      requestId,
      status: 'pending' as const,
      entries: 1,
      done: 0,
      roles: [],
      acceptedAt: new Date(NOW_MS).toISOString(),
    };
    gateway.storeBatch({ ...status, ruleSet: { id: 'vip', version: 7, digest: 'another' } }, []);
    const retry = () => gateway.postBatch({ entries: [ACCOUNT], ruleSet: 'vip' }, { 'idempotency-key': 'k' });
    const refused = await retry();
    expect([refused.status, (await problemOf(refused))['code']]).toEqual([422, 'idempotency-key-reused']);
    expect(gateway.parts).toEqual([]);
  });
});
