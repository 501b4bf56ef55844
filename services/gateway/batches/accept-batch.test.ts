import { request as httpRequest } from 'node:http';
import fc from 'fast-check';
import { ServiceError } from '#shared/errors.ts';
import {
  API_KEY,
  aClientApp,
  anAdmission,
  type FakeGateway,
  NOW_MS,
} from '../../../test/support/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../../test/support/fake-gateways.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';

const start = fakeGateways();
const ACCOUNT = '0x52908400098527886e0f7030069857d2e4169ee7';
const RULES = [{ type: 'NATIVE', chainId: 1, roleId: 'holder' }];
const NDJSON = { 'content-type': 'application/x-ndjson' };
const enterprise = aClientApp({
  limits: { tier: 'enterprise', requestsPerSecond: 500, requestsPerMonth: 1_000_000 },
});

const accountOf = (index: number): string => `0x${(index + 1).toString(16).padStart(40, '0')}`;
const accountsOf = (count: number): string[] => Array.from({ length: count }, (_, index) => accountOf(index));
const linesOf = (head: unknown, entries: readonly unknown[]): string =>
  [head, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');
const faultsOf = async (response: Response) =>
  (await problemOf(response))['errors'] as { pointer: string; code: string; detail: string }[];

/** Sends a body in chunks, and ends it only if asked to. */
async function sendSlowly(
  gateway: FakeGateway,
  chunks: readonly string[],
  { isEnded = true, headers = {} }: { isEnded?: boolean; headers?: Record<string, string> } = {},
): Promise<{ status: number; body: Record<string, unknown>; headers: NodeJS.Dict<string | string[]> }> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof sendSlowly>>>();
  const outgoing = httpRequest(`${gateway.url}/access-control/check-roles/batch`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, ...NDJSON, ...headers },
  });
  outgoing.on('error', reject);
  outgoing.on('response', (response) => {
    let text = '';
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    response.on('end', () => {
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(text), headers: response.headers });
      outgoing.destroy();
    });
  });
  for (const chunk of chunks) {
    outgoing.write(chunk);
    await new Promise((next) => setImmediate(next));
  }
  if (isEnded) outgoing.end();
  return promise;
}

describe('a batch', () => {
  it('is accepted when all parts are published, and charged as a whole', async () => {
    const gateway = await start({ app: enterprise });
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
      [false, undefined],
      [true, 1_202],
    ]);
    expect(gateway.registered).toMatchObject([
      { requestId, entryCount: 1_202, partCount: 3, roleIds: ['holder'] },
    ]);
  });

  it('is the same as JSON and as NDJSON, however its bytes arrive', async () => {
    const gateway = await start({ app: enterprise });
    const head = { rules: RULES, onUndetermined: 'deny', callbackUrl: 'https://hooks.example.com/done' };
    const entries = [
      ACCOUNT,
      { account: accountOf(7), ref: 'é "quoted"' },
      { accounts: accountsOf(2), vaults: [accountOf(9)] },
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

  it('costs rate before its body is read, so a refused one is not read', async () => {
    const gateway = await start({
      admit: async (request) => anAdmission(request, { outcome: 'rate-limited' }),
    });
    const { status, body } = await sendSlowly(gateway, ['{'], { isEnded: false });
    expect([status, body['code']]).toEqual([429, 'rate-limited']);
  });

  it('is refused whole without quota, and nothing is published', async () => {
    const gateway = await start({
      admit: async (request) => anAdmission(request, request.check ? { outcome: 'quota-exceeded' } : {}),
    });
    const response = await gateway.postBatch({ entries: [ACCOUNT], rules: RULES });
    expect([response.status, (await problemOf(response))['code']]).toEqual([429, 'monthly-quota-exceeded']);
    expect(gateway.parts).toEqual([]);
  });

  it('is refused with 409 while too many batches of the app are unfinished, and its charge is refunded', async () => {
    const gateway = await start({ unfinished: 2 });
    const response = await gateway.postBatch(
      { entries: accountsOf(3), rules: RULES },
      { 'idempotency-key': 'k' },
    );
    expect([response.status, (await problemOf(response))['code']]).toEqual([409, 'limit-reached']);
    expect(gateway.released).toMatchObject([{ month: '2026-11', count: 3, claim: { clientId: 'app_1' } }]);
    expect(gateway.parts).toEqual([]);
  });

  it('is refused while its lane has too much lag', async () => {
    const gateway = await start({ isOverloaded: (lane) => lane === 'batch' });
    const response = await gateway.postBatch({ entries: [ACCOUNT], rules: RULES });
    expect([response.status, (await problemOf(response))['code']]).toEqual([503, 'overloaded']);
    expect(response.headers.get('retry-after')).toBe('5');
  });

  it('is refunded if surely no part was written, and gives its slot back', async () => {
    const gateway = await start({
      publishPart: async () => {
        throw new ServiceError('broker-unavailable', 'away');
      },
    });
    const response = await gateway.postBatch({ entries: accountsOf(3), rules: RULES });
    expect(response.status).toBe(503);
    expect(gateway.released).toEqual([{ clientId: 'app_1', month: '2026-11', count: 3 }]);
    expect(gateway.slotsTaken.size).toBe(0);
  });

  it('stays charged if a part was written, and a retry publishes the same parts under the same id', async () => {
    let isAway = true;
    const claims: string[] = [];
    const gateway = await start({
      app: enterprise,
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

describe('the faults of a batch', () => {
  it('are listed by pointer, the first hundred, and refuse it whole', async () => {
    const gateway = await start();
    const bad = {
      entries: [
        ACCOUNT,
        'vitalik.eth',
        { account: 'x' },
        { accounts: [ACCOUNT, ACCOUNT.toUpperCase().replace('X', 'x')] },
        { ref: 'a' },
        7,
        { account: ACCOUNT, extra: 1 },
        { account: ACCOUNT, accounts: [ACCOUNT] },
        { account: ACCOUNT, ref: 'x'.repeat(129) },
      ],
      rules: [{ ...RULES[0], chainId: 5 }],
      explain: true,
    };
    for (const response of [
      await gateway.postBatch(bad),
      await gateway.postBatch(linesOf({ rules: bad.rules, explain: true }, bad.entries), NDJSON),
    ]) {
      expect(response.status).toBe(422);
      expect((await faultsOf(response)).map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([
        '/explain unknown-member',
        '/rules/0/chainId chain-unsupported',
        '/entries/1 account-format-unsupported',
        '/entries/2/account malformed',
        '/entries/3/accounts/1 repeated',
        '/entries/4/account required',
        '/entries/5 wrong-type',
        '/entries/6/extra unknown-member',
        '/entries/7/accounts not-allowed',
        '/entries/8/ref too-long',
      ]);
    }
    const many = await gateway.postBatch({ entries: Array(500).fill('x'), rules: RULES });
    expect(await faultsOf(many)).toHaveLength(100);
    expect(gateway.parts).toEqual([]);
    expect(gateway.admitted.every(({ check }) => check === undefined)).toBe(true);
  });

  it.each([
    ['no entries', { entries: [], rules: RULES }, '/entries too-short'],
    ['entries that are missing', { rules: RULES }, '/entries required'],
    ['entries that are no list', { entries: {}, rules: RULES }, '/entries wrong-type'],
    ['rules that are missing', { entries: [ACCOUNT] }, '/rules required'],
    [
      'more entries than its tier allows',
      { entries: accountsOf(1_001), rules: RULES },
      '/entries too-many-entries',
    ],
    [
      'an entry that needs too many reads',
      {
        entries: [{ accounts: accountsOf(16) }],
        rules: Array.from({ length: 13 }, (_, i) => ({
          type: 'ERC20',
          chainId: 1,
          contractAddress: accountOf(i),
          roleId: 'r',
        })),
      },
      '/entries/0 too-many-reads',
    ],
  ])('tell of %s', async (_, body, expected) => {
    const gateway = await start();
    const response = await gateway.postBatch(body);
    const problem = await problemOf(response);
    const [fault] = problem['errors'] as { pointer: string; code: string }[];
    expect([response.status, `${fault?.pointer} ${fault?.code}`]).toEqual([422, expected]);
  });

  it('tell of entries times rules above a million', async () => {
    const gateway = await start({ app: enterprise });
    const rules = Array.from({ length: 150 }, (_, index) => ({ ...RULES[0], roleId: `r${index}` }));
    const response = await gateway.postBatch(linesOf({ rules }, accountsOf(6_667)), NDJSON);
    expect([response.status, (await problemOf(response))['code']]).toEqual([422, 'batch-too-large']);
  });

  it('tell of a malformed idempotency key', async () => {
    const gateway = await start();
    const response = await gateway.postBatch(
      { entries: [ACCOUNT], rules: RULES },
      { 'idempotency-key': 'ä'.repeat(2) },
    );
    expect(response.status).toBe(422);
  });
});

describe('the body of a batch', () => {
  it.each([
    [
      'that ends in the middle of a line',
      `${linesOf({ rules: RULES }, [ACCOUNT])}"0x5290`,
      400,
      'malformed-json',
      'Line 3 is not JSON',
    ],
    [
      'with a line that is not JSON',
      linesOf({ rules: RULES }, []).concat('x\n'),
      400,
      'malformed-json',
      'Line 2 is not JSON',
    ],
    [
      'with an empty line',
      linesOf({ rules: RULES }, []).concat('\n'),
      400,
      'malformed-json',
      'Line 2 is empty',
    ],
    [
      'with a line above 8 KiB',
      linesOf({ rules: RULES }, [{ account: ACCOUNT, ref: 'x'.repeat(9_000) }]),
      413,
      'body-too-large',
      'Line 2',
    ],
    ['that is empty', '', 400, 'malformed-json', 'empty'],
  ])('of NDJSON %s is refused, the line named', async (_, text, status, code, detail) => {
    const gateway = await start();
    const response = await gateway.postBatch(text, NDJSON);
    const problem = await problemOf(response);
    expect([response.status, problem['code']]).toEqual([status, code]);
    expect(problem['detail']).toContain(detail);
    expect(gateway.parts).toEqual([]);
  });

  it.each([
    ['text/plain', {}],
    ['application/json; charset=latin1', {}],
    ['application/x-ndjson', { 'content-encoding': 'gzip' }],
  ])('as %s is refused with 415', async (type, headers) => {
    const gateway = await start();
    const response = await gateway.postBatch('{}', { 'content-type': type, ...headers });
    expect([response.status, (await problemOf(response))['code']]).toEqual([415, 'media-type-unsupported']);
  });

  it('above 2 MiB of JSON is refused, and the client gets its answer', async () => {
    const gateway = await start({ app: enterprise });
    const response = await gateway.postBatch({
      entries: [ACCOUNT],
      rules: RULES,
      ref: 'x'.repeat(3_000_000),
    });
    expect([response.status, (await problemOf(response))['code']]).toEqual([413, 'body-too-large']);
  });

  it('that does not arrive in time is 408, costs no quota, and its connection ends', async () => {
    const gateway = await start({ bodyBounds: { bytesMax: 1_000_000, timeoutMs: 50 } });
    const { status, body, headers } = await sendSlowly(gateway, ['{', '"'], { isEnded: false });
    expect([status, body['code'], headers['connection']]).toEqual([408, 'body-timeout', 'close']);
    expect(gateway.admitted.every(({ check }) => check === undefined)).toBe(true);
    expect((await gateway.postBatch({ entries: [ACCOUNT], rules: RULES })).status).toBe(202);
  });

  it('is read one at a time for each client app', async () => {
    const gateway = await start();
    const outgoing = httpRequest(`${gateway.url}/access-control/check-roles/batch`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, ...NDJSON },
    });
    const aborted = new Promise((resolve) => outgoing.on('error', resolve));
    outgoing.write('{');
    const body = { entries: [ACCOUNT], rules: RULES };
    await waitUntil(
      'a second body to be refused',
      async () => (await gateway.postBatch(body)).status === 503,
    );
    outgoing.destroy();
    await aborted;
    await waitUntil(
      'the slot of the client that went away',
      async () => (await gateway.postBatch(body)).status === 202,
    );
  });

  it('is bounded in bytes over all client apps, and its bytes are free again afterwards', async () => {
    const gateway = await start({ app: enterprise, bodyBounds: { bytesMax: 5_000, timeoutMs: 10_000 } });
    const response = await gateway.postBatch({ entries: accountsOf(200), rules: RULES });
    expect([response.status, (await problemOf(response))['code']]).toEqual([503, 'overloaded']);
    for (let i = 0; i < 3; i += 1)
      expect((await gateway.postBatch({ entries: accountsOf(50), rules: RULES })).status).toBe(202);
  });

  it('is read no further when the gateway stops', async () => {
    const stopping = new AbortController();
    const gateway = await start({ stopping: stopping.signal });
    const sent = sendSlowly(gateway, ['{'], { isEnded: false });
    await waitUntil('the rate to be charged', () => gateway.admitted.length > 0);
    stopping.abort();
    expect((await sent).status).toBe(503);
  });
});
