import { type ClientApp, KeyPermission } from '#shared/contracts/apps/client-app.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import {
  A_CHECK,
  anAdmission,
  anAppWhoseKeyMay,
  anAppWithKey,
  holderOf,
  NOW_MS,
} from '../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../test/support/fakes/fake-gateways.ts';
import { OPERATIONS } from './operations.ts';

/** The gateway's HTTP surface over fakes: every answer of the contract that needs no real Kafka or
 * Redis. */

const start = fakeGateways();

describe('an idempotency key', () => {
  const CALLBACK = { ...A_CHECK, callbackUrl: 'https://hooks.example.com/' };
  /** A gateway whose limiter keeps one claim, as Redis does. */
  function startWithClaim() {
    let claimed: string | undefined;
    const claim = { atMs: NOW_MS, seed: '1.00', requestId: 'first', month: '2026-11' };
    return start({
      async admit(request) {
        const { bodyHash } = request.check?.claim ?? {};
        const outcome = claimed === undefined ? 'fresh' : claimed === bodyHash ? 'published' : 'key-reused';
        claimed ??= bodyHash;
        return anAdmission(request, outcome === 'fresh' ? {} : { outcome, claim });
      },
    });
  }

  it.each([
    ['without async', CALLBACK, { ...CALLBACK, async: true }],
    ['with async', { ...CALLBACK, async: true }, CALLBACK],
  ])('of a callback %s covers the same check with the other async', async (_, first, second) => {
    const gateway = await startWithClaim();
    const headers = { 'idempotency-key': 'k' };
    expect((await gateway.post(first, headers)).status).toBe(202);
    const replayed = await gateway.post(second, headers);
    expect([replayed.status, await replayed.json()]).toEqual([202, { requestId: 'first' }]);
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect(gateway.admitted.map(({ isPaid = false }) => isPaid)).toEqual([false, false]);
    expect(gateway.published).toHaveLength(1);
  });

  it('answers 422 if it is reused with another callback URL, or without one', async () => {
    const gateway = await startWithClaim();
    const headers = { 'idempotency-key': 'k' };
    await gateway.post(CALLBACK, headers);
    for (const body of [
      { ...CALLBACK, callbackUrl: 'https://hooks.example.com/other' },
      { ...A_CHECK, async: true },
    ])
      expect((await problemOf(await gateway.post(body, headers)))['code']).toBe('idempotency-key-reused');
  });
});

test('stored documents and deliveries are read with the permission read, and written with manage', () => {
  const stored = Object.values(OPERATIONS).filter(({ path }) =>
    /^\/access-control\/(rule-sets|watches|deliveries)/.test(path),
  );
  const wanted = stored.map(({ method, path }) => [method, path, method === 'get' ? 'read' : 'manage']);
  expect(stored.map(({ method, path, access }) => [method, path, access])).toEqual(wanted);
});

describe('an API key', () => {
  it('is required: without it the answer is 401 api-key-missing, and the body is not read', async () => {
    const gateway = await start();
    const response = await gateway.post('not json', { 'x-api-key': '' });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('ApiKey realm="rolecall"');
    expect(response.headers.get('ratelimit')).toBeNull();
    expect((await problemOf(response))['code']).toBe('api-key-missing');
  });

  it('is refused without I/O if it is malformed, with the same answer as an unknown key', async () => {
    let lookups = 0;
    const gateway = await start({
      findKey: async () => {
        lookups += 1;
        return undefined;
      },
    });
    const malformed = await gateway.post(A_CHECK, { 'x-api-key': 'rck_live_nonsense' });
    expect(lookups).toBe(0);
    const unknown = await gateway.post(A_CHECK);
    expect(lookups).toBe(1);
    const [a, b] = [await problemOf(malformed), await problemOf(unknown)];
    expect({ ...a, instance: '' }).toEqual({ ...b, instance: '' });
    expect(a['code']).toBe('api-key-invalid');
    expect(malformed.headers.get('www-authenticate')).toBe('ApiKey realm="rolecall"');
  });

  it.each([
    ['revoked', { revokedAt: new Date(NOW_MS - 1).toISOString() }],
    ['expired', { expiresAt: new Date(NOW_MS).toISOString() }],
  ])('that is %s is 401', async (_, change) => {
    const app = anAppWithKey();
    const gateway = await start({ app: { ...app, keys: app.keys.map((key) => ({ ...key, ...change })) } });
    expect((await gateway.post(A_CHECK)).status).toBe(401);
  });

  it('needs the permission of the operation, which the refusal names before the body is read', async () => {
    const gateway = await start({ app: anAppWhoseKeyMay(['read', 'manage']) });
    const refused = await gateway.post('not json');
    expect([refused.status, await problemOf(refused)]).toEqual([
      403,
      expect.objectContaining({
        code: 'permission-missing',
        detail: 'This request needs the permission "check"; the API key has "read" and "manage".',
      }),
    ]);
    expect(refused.headers.get('ratelimit')).toContain('per-second');
    expect((await gateway.get('/access-control/rule-sets')).status).toBe(200);
  });

  it('without the permission of the operation learns first that its app is suspended or has no scope', async () => {
    const codeOf = async (changes: Partial<ClientApp>) => {
      const gateway = await start({ app: anAppWhoseKeyMay(['read'], changes) });
      return (await problemOf(await gateway.post(A_CHECK)))['code'];
    };
    expect([await codeOf({ suspended: true }), await codeOf({ scope: 'requested' })]).toEqual([
      'client-app-suspended',
      'scope-not-approved',
    ]);
  });

  it.each(KeyPermission.options)('that may only %s lists the chains', async (permission) => {
    const gateway = await start({ app: anAppWhoseKeyMay([permission]) });
    expect((await gateway.get('/access-control/chains')).status).toBe(200);
  });

  it('may fail 20 times a second from one address, and a valid key still passes', async () => {
    const gateway = await start();
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => gateway.post(A_CHECK, { 'x-api-key': 'wrong' })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(10);
    for (const answer of refused)
      expect(await problemOf(answer)).toMatchObject({
        code: 'rate-limited',
        'violated-policies': ['per-second'],
      });
    expect((await gateway.post({ ...A_CHECK, async: true })).status).toBe(202);
  });

  it('does not count against that budget if it is missing', async () => {
    const gateway = await start();
    const statuses = [];
    for (let i = 0; i < 25; i++) statuses.push((await gateway.post(A_CHECK, { 'x-api-key': '' })).status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect((await gateway.post(A_CHECK, { 'x-api-key': 'wrong' })).status).toBe(401);
  });

  it.each<[string, readonly string[], (index: number) => string, number]>([
    ['of a stranger is not believed', [], (index) => `192.0.2.${index}`, 5],
    ['of a trusted proxy names the client', ['127.0.0.0/8', '::1'], (index) => `192.0.2.${index}`, 0],
    ['of a trusted proxy bounds each client', ['127.0.0.1'], () => '192.0.2.1', 5],
    ['of a trusted proxy bounds an IPv6 network', ['127.0.0.1'], (index) => `2001:db8:1:2::${index}`, 5],
    ['of a trusted proxy tells IPv6 networks apart', ['127.0.0.1'], (index) => `2001:db8:1:${index}::1`, 0],
    ['of a trusted proxy may hold a port', ['127.0.0.1'], (index) => `192.0.2.1:${50_000 + index}`, 5],
    ['is believed no further than the proxies go', ['127.0.0.1'], (index) => `10.0.0.${index}, 192.0.2.1`, 5],
    [
      'is believed through several proxies',
      ['127.0.0.1', '192.0.2.1'],
      (index) => `10.0.0.${index}, 192.0.2.1`,
      0,
    ],
  ])('that fails: X-Forwarded-For %s', async (_, trustedProxies, forwardedFor, refusedCount) => {
    const gateway = await start({ trustedProxies });
    const statuses = [];
    for (let index = 0; index < 25; index++) {
      const headers = { 'x-api-key': 'wrong', 'x-forwarded-for': forwardedFor(index) };
      statuses.push((await gateway.post(A_CHECK, headers)).status);
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(refusedCount);
  });

  it.each<[string, readonly string[], string | undefined, number]>([
    ['logs X-Forwarded-For from a sender that is not trusted once', [], '192.0.2.1', 1],
    ['logs nothing of a trusted proxy', ['127.0.0.1'], '192.0.2.1', 0],
    ['logs nothing of a client without a proxy', [], undefined, 0],
  ])('%s', async (_, trustedProxies, forwardedFor, lineCount) => {
    const lines: string[] = [];
    const log = makeLogger('gateway', 'warn', { write: (line: string) => void lines.push(line) });
    const gateway = await start({ trustedProxies, log });
    const headers: Record<string, string> =
      forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
    for (let index = 0; index < 3; index++) await gateway.post(A_CHECK, { 'x-api-key': 'wrong', ...headers });
    expect(lines.map((line) => JSON.parse(line).peer)).toEqual(Array(lineCount).fill('127.0.0.1'));
    for (const line of lines) expect(line).toContain('TRUSTED_PROXIES');
  });

  it('is refused as soon as its revocation is announced', async () => {
    let app = anAppWithKey();
    const gateway = await start({ findKey: async (hash) => holderOf(app, hash) });
    expect((await gateway.post({ ...A_CHECK, async: true })).status).toBe(202);
    app = anAppWithKey({
      keys: app.keys.map((key) => ({ ...key, revokedAt: new Date(NOW_MS).toISOString() })),
    });
    expect((await gateway.post({ ...A_CHECK, async: true })).status).toBe(202);
    gateway.authenticator.forget('app_1');
    expect((await gateway.post({ ...A_CHECK, async: true })).status).toBe(401);
  });

  it.each([
    [{ scope: 'requested' }, 'scope-not-approved'],
    [{ suspended: true }, 'client-app-suspended'],
  ] as const)('of an app with %j is 403 %s, which costs rate, on every path', async (change, code) => {
    const gateway = await start({ app: anAppWithKey(change) });
    const answers = [
      await gateway.post('not json'),
      await gateway.get('/access-control/check-roles/responses/x'),
      await gateway.get('/access-control/chains'),
    ];
    for (const response of answers) {
      expect(response.status).toBe(403);
      expect(response.headers.get('rolecall-accepted-at')).toBe(String(NOW_MS));
      expect((await problemOf(response))['code']).toBe(code);
    }
    expect(gateway.admitted.map(({ bucket, check }) => [bucket, check])).toEqual([
      ['per-second', undefined],
      ['per-second-poll', undefined],
      ['per-second-poll', undefined],
    ]);
  });
});

describe('the limits', () => {
  it('are on every authenticated answer', async () => {
    const gateway = await start();
    const post = await gateway.post({ ...A_CHECK, async: true });
    expect(post.headers.get('ratelimit-policy')).toBe('"per-second";q=10;w=1, "per-month";q=10000;w=2592000');
    expect(post.headers.get('ratelimit')).toBe('"per-second";r=9;t=1, "per-month";r=9999;t=864000');
    expect(post.headers.get('x-ratelimit-limit')).toBe('10');
    expect(post.headers.get('x-ratelimit-remaining')).toBe('9');
    expect(post.headers.get('x-ratelimit-reset')).toBe(new Date(NOW_MS + 1_000).toISOString());
    const get = await gateway.get('/access-control/chains');
    expect(get.headers.get('ratelimit-policy')).toBe('"per-second-poll";q=10;w=1');
    expect(get.headers.get('ratelimit')).toBe('"per-second-poll";r=9;t=1');
  });

  it.each([
    ['rate-limited', 'rate-limited', 'per-second', '1'],
    ['quota-exceeded', 'monthly-quota-exceeded', 'per-month', '864000'],
  ] as const)('%s is 429 and outranks the faults of the body', async (outcome, code, policy, retryAfter) => {
    const gateway = await start({ admit: async (request) => anAdmission(request, { outcome }) });
    for (const body of [{ ...A_CHECK, async: true }, 'not json', { account: 1 }, 'x'.repeat(300_000)]) {
      const response = await gateway.post(body);
      expect(response.status).toBe(429);
      expect(response.headers.get('retry-after')).toBe(retryAfter);
      expect(response.headers.get('rolecall-accepted-at')).toBeNull();
      expect(await problemOf(response)).toMatchObject({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        code,
        'violated-policies': [policy],
      });
    }
    expect(gateway.published).toHaveLength(0);
  });
});

describe('the body', () => {
  it('is reported together with a malformed idempotency key, each fault with its pointer', async () => {
    const gateway = await start();
    const response = await gateway.post({ ...A_CHECK, account: '0x12' }, { 'idempotency-key': 'a b' });
    const problem = await problemOf(response);
    expect(problem).toMatchObject({ status: 422, code: 'validation-failed' });
    const errors = problem['errors'] as { pointer: string }[];
    expect(errors.map(({ pointer }) => pointer)).toEqual(['/account', '']);
  });

  it.each([
    ['', 400, 'malformed-json'],
    ['{', 400, 'malformed-json'],
    [new Uint8Array([0x22, 0xff, 0x22]), 400, 'malformed-json'],
    ['[]', 422, 'validation-failed'],
    ['null', 422, 'validation-failed'],
    ['7', 422, 'validation-failed'],
    [' '.repeat(256 * 1024 + 1), 413, 'body-too-large'],
    ['['.repeat(130_000) + ']'.repeat(130_000), 422, 'validation-failed'],
    [`{"rules":${'['.repeat(120_000)}${']'.repeat(120_000)}}`, 422, 'validation-failed'],
    ['['.repeat(200_000), 400, 'malformed-json'],
    ['['.repeat(1_000_000) + ']'.repeat(1_000_000), 413, 'body-too-large'],
    ['{"account":"a\0b"}', 400, 'malformed-json'],
    [`{"account":${'9'.repeat(200_000)}}`, 422, 'validation-failed'],
    [`{"account":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`, 422, 'validation-failed'],
  ])('%# is refused as it should be, and costs rate but no quota', async (body, status, code) => {
    const gateway = await start();
    const response = await gateway.post(body);
    expect(response.status).toBe(status);
    expect(response.headers.get('rolecall-accepted-at')).toBe(String(NOW_MS));
    const problem = await problemOf(response);
    expect(problem['code']).toBe(code);
    if (status === 422) expect(problem['errors']).toEqual(expect.any(Array));
    expect(gateway.admitted.map(({ check }) => check)).toEqual([undefined]);
    expect(gateway.published).toHaveLength(0);
  });

  it.each([
    ['text/plain', 415],
    ['application/json; charset=utf-16', 415],
    ['application/jsonp', 415],
    ['application/json; charset=utf-8', 202],
    ['Application/JSON;charset="UTF-8"', 202],
    ['application/vnd.example+json', 202],
    ['text/x.example+json', 202],
    ['application/+json', 415],
  ])('of media type %s is answered with %i', async (type, status) => {
    const gateway = await start();
    const response = await gateway.post({ ...A_CHECK, async: true }, { 'content-type': type });
    expect(response.status).toBe(status);
    if (status === 415) expect((await problemOf(response))['code']).toBe('media-type-unsupported');
  });

  it('answers 415 if it has a content-encoding', async () => {
    const gateway = await start();
    expect((await gateway.post(A_CHECK, { 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await gateway.post({ ...A_CHECK, async: true }, { 'content-encoding': 'identity' })).status).toBe(
      202,
    );
  });

  it('has the last value of a duplicate member, and __proto__ is an unknown member', async () => {
    const gateway = await start();
    const rules = JSON.stringify(A_CHECK.rules);
    const twice = `{"account":"x","account":"${A_CHECK.account}","rules":${rules},"async":true}`;
    expect((await gateway.post(twice)).status).toBe(202);
    const problem = await problemOf(await gateway.post(`{"__proto__":{"async":true},${twice.slice(1)}`));
    expect(problem['errors']).toEqual([
      expect.objectContaining({ pointer: '/__proto__', code: 'unknown-member' }),
    ]);
  });
});
