import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { ServiceError } from '#shared/errors.ts';
import { aCheckResult } from '../../../test/support/builders/a-check-result.ts';
import {
  API_KEY,
  anAdmission,
  anAppWhoseKeyMay,
  type FakeGateway,
  type FakeOptions,
} from '../../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../../test/support/fakes/fake-gateways.ts';
import { makeFakeRuleSets } from '../../../test/support/fakes/fake-rule-sets.ts';

/** The operations of AuthZEN over fakes. */

const startFake = fakeGateways();

afterEach(() => void jest.restoreAllMocks());

const ALICE = '0x52908400098527886E0F7030069857D2E4169EE7';
const BOB = '0x8617E340B3D01FA5F11F306F4090FD50E238070D';
const native = (roleId: string) => ({ type: 'NATIVE', chainId: 1, roleId });

/** Whom of both wallets each role is granted to. */
type Outcomes = Readonly<Record<string, 'granted' | 'denied' | 'unread' | 'broken'>>;

/** How the evaluator of these tests ends a check: a role by its name and the wallet. */
const OUTCOMES: Outcomes = {
  [`gold ${ALICE}`]: 'granted',
  [`gold ${BOB}`]: 'denied',
  [`silver ${ALICE}`]: 'denied',
  [`silver ${BOB}`]: 'denied',
  [`lost ${ALICE}`]: 'unread',
  [`wrong ${ALICE}`]: 'broken',
};

function evaluate({ requestId, account, rules, onUndetermined }: CheckRequested): string {
  const outcomes = rules.map(({ roleId }) => OUTCOMES[`${roleId} ${account}`] ?? 'unread');
  const errors = rules.flatMap(({ roleId }, ruleIndex) =>
    outcomes[ruleIndex] === 'unread' || outcomes[ruleIndex] === 'broken'
      ? [
          {
            ruleIndex,
            roleId,
            code: outcomes[ruleIndex] === 'unread' ? 'rpc-timeout' : 'contract-not-found',
            message: `${roleId} is not known.`,
            retryable: outcomes[ruleIndex] === 'unread',
          } as const,
        ]
      : [],
  );
  const roles = rules.flatMap(({ roleId }, index) => {
    const outcome = outcomes[index];
    if (outcome === 'granted' || outcome === 'denied')
      return [{ id: roleId, granted: outcome === 'granted' }];
    return onUndetermined === 'deny' ? [{ id: roleId, granted: false }] : [];
  });
  const status = roles.length === 0 ? 'failed' : 'completed';
  return aCheckResult({ requestId, status, roles, errors });
}

async function start(options: FakeOptions = {}): Promise<FakeGateway> {
  const ruleSets = makeFakeRuleSets();
  const gateway: FakeGateway = await startFake({
    ruleSets,
    publish: async (message) => gateway.complete(message.requestId, evaluate(message)),
    ...options,
  });
  const put = (id: string, body: object) => gateway.send('PUT', `/access-control/rule-sets/${id}`, body);
  await put('club', { rules: [native('gold'), native('gold/2026'), native('silver')] });
  await put('lost', { rules: [native('lost')] });
  await put('wrong', { rules: [native('wrong')] });
  await put('mixed', { rules: [native('gold'), native('lost'), native('wrong')] });
  await put('closed', { rules: [native('lost')], onUndetermined: 'deny' });
  gateway.admitted.length = 0;
  return gateway;
}

const wallet = (id: string) => ({ type: 'wallet', id });
const role = (id: string) => ({ type: 'role', id });
const READ = { name: 'read' };
const ask = (id: string, subject = ALICE) => ({
  subject: wallet(subject),
  action: READ,
  resource: role(id),
});

const one = (gateway: FakeGateway, body: unknown, headers?: Record<string, string>) =>
  gateway.send('POST', '/access/v1/evaluation', body, headers);
const list = (gateway: FakeGateway, body: unknown, headers?: Record<string, string>) =>
  gateway.send('POST', '/access/v1/evaluations', body, headers);
const bodyOf = async (response: Response) => (await response.json()) as Record<string, unknown>;
type Entry = { readonly decision: boolean; readonly context: Record<string, unknown> };
const entriesOf = async (response: Response) => (await bodyOf(response))['evaluations'] as Entry[];
const outcomesOf = async (response: Response) =>
  (await entriesOf(response)).map(({ decision, context }) => [decision, context['outcome']]);

describe('a single evaluation', () => {
  it.each([
    ['granted', ask('club/gold'), true],
    ['denied', ask('club/silver'), false],
    ['denied', ask('club/gold', BOB), false],
  ])(
    'of a role that is %s is answered with the decision, the check and its blocks',
    async (outcome, body, decision) => {
      const gateway = await start();
      const response = await one(gateway, body);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(await response.json()).toEqual({
        decision,
        context: {
          outcome,
          requestId: gateway.published[0]?.requestId,
          evaluatedAt: '2026-01-01T00:00:00.000Z',
          blocks: { '1': { number: 1, hash: '0x01', timestamp: 1, proved: true } },
        },
      });
      expect(gateway.published).toEqual([
        expect.objectContaining({
          account: body.subject.id,
          ruleSet: expect.objectContaining({ id: 'club', version: 1 }),
          delivery: { mode: 'sync', replyChannel: 'results:test' },
          chargedMonth: '2026-11',
        }),
      ]);
    },
  );

  it('takes all that follows the first slash as the role', async () => {
    const gateway = await start();
    expect((await one(gateway, ask('club/gold/2026'))).status).toBe(503);
    expect((await problemOf(await one(gateway, ask('club/gold/2027'))))['errors']).toEqual([
      { pointer: '/resource/id', code: 'role-unknown', detail: expect.stringContaining('/resource/id') },
    ]);
  });

  it('of a role that could not be read is 503 with the errors of the role, and Retry-After only if another try may help', async () => {
    const gateway = await start();
    const lost = await one(gateway, ask('mixed/lost'));
    expect([lost.status, lost.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await problemOf(lost)).toMatchObject({
      code: 'evaluation-unavailable',
      requestId: gateway.published[0]?.requestId,
      errors: [{ roleId: 'lost', code: 'rpc-timeout' }],
    });
    const wrong = await one(gateway, ask('mixed/wrong'));
    expect([wrong.status, wrong.headers.get('retry-after')]).toEqual([503, null]);
    expect(await problemOf(wrong)).toMatchObject({ errors: [{ roleId: 'wrong' }] });
    expect((await one(gateway, ask('mixed/gold'))).status).toBe(200);
  });

  it('tells in its headers that a check of which nothing could be read was refunded', async () => {
    const gateway = await start();
    const left = async (body: object) => (await one(gateway, body)).headers.get('ratelimit');
    expect(await left(ask('lost/lost'))).toContain('"per-month";r=10000;');
    expect(await left(ask('wrong/wrong'))).toContain('"per-month";r=9999;');
  });

  it('asked for denials is false where the role could not be read, by its context or its rule set', async () => {
    const gateway = await start();
    const context = { onUndetermined: 'deny' };
    for (const body of [{ ...ask('lost/lost'), context }, ask('closed/lost')])
      expect(await bodyOf(await one(gateway, body))).toMatchObject({
        decision: false,
        context: { outcome: 'denied' },
      });
    const omit = { ...ask('closed/lost'), context: { onUndetermined: 'omit' } };
    expect((await one(gateway, omit)).status).toBe(503);
  });

  it('takes consistency from the context and ignores every member that it does not know', async () => {
    const gateway = await start();
    const response = await one(gateway, {
      ...ask('club/gold'),
      subject: { ...wallet(ALICE), properties: { role: 'admin' } },
      context: {
        consistency: { minBlock: { '1': 7 }, future: true },
        time: '2026-06-27T18:03-07:00',
        ip: '192.0.2.1',
      },
      options: { evaluations_semantic: 'nonsense' },
      evaluations: 'nonsense',
      foo: 'bar',
    });
    expect(response.status).toBe(200);
    expect(gateway.published[0]?.consistency).toEqual({ blockTag: 'latest', minBlock: { '1': 7 } });
  });

  it('that ends at the deadline is 504 with the id of its check', async () => {
    const gateway = await start({ syncDeadlineMs: 20, publish: async () => undefined });
    const response = await one(gateway, ask('club/gold'));
    expect(response.status).toBe(504);
    expect(await problemOf(response)).toMatchObject({
      code: 'deadline-exceeded',
      requestId: gateway.published[0]?.requestId,
    });
  });

  it.each([
    ['no subject', { action: READ, resource: role('club/gold') }, '/subject required'],
    ['no action', { subject: wallet(ALICE), resource: role('club/gold') }, '/action required'],
    ['no resource', { subject: wallet(ALICE), action: READ }, '/resource required'],
    ['a subject that is a text', { ...ask('club/gold'), subject: 'alice' }, '/subject wrong-type'],
    ['a subject without type', { ...ask('club/gold'), subject: { id: ALICE } }, '/subject/type required'],
    ['a subject without id', { ...ask('club/gold'), subject: { type: 'wallet' } }, '/subject/id required'],
    [
      'another subject',
      { ...ask('club/gold'), subject: { type: 'user', id: ALICE } },
      '/subject/type not-a-choice',
    ],
    ['a malformed wallet', ask('club/gold', '0x12'), '/subject/id malformed'],
    ['a wrong checksum', ask('club/gold', ALICE.replace('E', 'e')), '/subject/id checksum-mismatch'],
    ['a name', ask('club/gold', 'vitalik.eth'), '/subject/id account-format-unsupported'],
    ['an action without name', { ...ask('club/gold'), action: {} }, '/action/name required'],
    ['a number as action', { ...ask('club/gold'), action: { name: 123 } }, '/action/name wrong-type'],
    [
      'another resource',
      { ...ask('club/gold'), resource: { type: 'doc', id: 'x/y' } },
      '/resource/type not-a-choice',
    ],
    ['a resource without id', { ...ask('club/gold'), resource: { type: 'role' } }, '/resource/id required'],
    ['a resource without a role', ask('club'), '/resource/id malformed'],
    ['an empty role', ask('club/'), '/resource/id malformed'],
    ['an unknown rule set', ask('nobody/gold'), '/resource/id rule-set-unknown'],
    ['an unknown role', ask('club/bronze'), '/resource/id role-unknown'],
    ['a context that is a text', { ...ask('club/gold'), context: 'now' }, '/context wrong-type'],
    [
      'a wrong block tag',
      { ...ask('club/gold'), context: { consistency: { blockTag: 'soon' } } },
      '/context/consistency/blockTag not-a-choice',
    ],
    [
      'a block of no chain',
      { ...ask('club/gold'), context: { consistency: { minBlock: { '10': 1 } } } },
      '/context/consistency/minBlock/10 chain-not-in-rules',
    ],
    [
      'a wrong onUndetermined',
      { ...ask('club/gold'), context: { onUndetermined: 'allow' } },
      '/context/onUndetermined not-a-choice',
    ],
    ['a list', [], ' wrong-type'],
  ])('with %s is 400 and names the member', async (_name, body, expected) => {
    const gateway = await start();
    const response = await one(gateway, body);
    expect(response.status).toBe(400);
    const problem = await problemOf(response);
    const errors = problem['errors'] as { pointer: string; code: string; detail: string }[];
    expect(errors.map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([expected]);
    for (const { pointer, detail } of errors) expect(detail.startsWith(pointer || 'The body')).toBe(true);
    expect(gateway.published).toEqual([]);
    expect(gateway.admitted).toEqual([expect.not.objectContaining({ check: expect.anything() })]);
  });

  it.each([
    [
      'another media type',
      JSON.stringify(ask('club/gold')),
      { 'content-type': 'text/plain' },
      400,
      'malformed-request',
    ],
    ['no media type', JSON.stringify(ask('club/gold')), { 'content-type': '' }, 400, 'malformed-request'],
    ['text that is not JSON', '{', {}, 400, 'malformed-json'],
    ['an empty body', '', {}, 400, 'malformed-json'],
    [
      'far too many different names',
      JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`m${i}`, 0]))),
      {},
      400,
      'validation-failed',
    ],
    ['more than 256 KiB', `"${'x'.repeat(256 * 1024)}"`, {}, 413, 'body-too-large'],
  ])('with %s is refused', async (_name, body, headers, status, code) => {
    const gateway = await start();
    const response = await one(gateway, body, headers);
    expect([response.status, (await problemOf(response))['code']]).toEqual([status, code]);
  });
});

describe('the key of an evaluation', () => {
  const BEARER = { 'x-api-key': '', authorization: `Bearer ${API_KEY}` };

  it('may be a bearer token, on these paths alone', async () => {
    const gateway = await start();
    expect((await one(gateway, ask('club/gold'), BEARER)).status).toBe(200);
    expect(
      (await list(gateway, ask('club/gold'), { ...BEARER, authorization: `bearer  ${API_KEY} ` })).status,
    ).toBe(200);
    const check = await gateway.post({ account: ALICE, ruleSet: 'club' }, BEARER);
    expect([check.status, check.headers.get('www-authenticate')]).toEqual([401, 'ApiKey realm="rolecall"']);
  });

  it('in x-api-key wins over the bearer token', async () => {
    const gateway = await start();
    const wrong = await one(gateway, ask('club/gold'), { ...BEARER, 'x-api-key': 'rck_live_x' });
    expect([wrong.status, (await problemOf(wrong))['code']]).toEqual([401, 'api-key-invalid']);
    const right = { 'x-api-key': API_KEY, authorization: 'Bearer nonsense' };
    expect((await one(gateway, ask('club/gold'), right)).status).toBe(200);
  });

  it.each([
    ['none', { 'x-api-key': '' }, 'api-key-missing'],
    ['another scheme', { 'x-api-key': '', authorization: `Basic ${API_KEY}` }, 'api-key-missing'],
    ['a wrong token', { 'x-api-key': '', authorization: 'Bearer x' }, 'api-key-invalid'],
  ])('that is %s is 401 with both challenges', async (_name, headers, code) => {
    const gateway = await start();
    const response = await one(gateway, ask('club/gold'), headers);
    expect([response.status, (await problemOf(response))['code']]).toEqual([401, code]);
    expect(response.headers.get('www-authenticate')).toBe('ApiKey realm="rolecall", Bearer realm="rolecall"');
  });

  it('needs the permission to check', async () => {
    const gateway = await start({ app: anAppWhoseKeyMay(['manage', 'read']) });
    const response = await one(gateway, ask('club/gold'));
    expect([response.status, (await problemOf(response))['code']]).toEqual([403, 'permission-missing']);
  });
});

describe('X-Request-ID', () => {
  it.each([
    ['a decision', ask('club/gold'), {}, 200],
    ['a fault', {}, {}, 400],
    ['a missing key', ask('club/gold'), { 'x-api-key': '' }, 401],
  ])('is repeated in %s', async (_name, body, headers, status) => {
    const gateway = await start();
    const id = '!bfe9eb29~';
    for (const send of [one, list]) {
      const response = await send(gateway, body, { ...headers, 'x-request-id': id });
      expect([response.status, response.headers.get('x-request-id')]).toEqual([status, id]);
    }
  });

  it('is repeated where the method is not allowed, and where too many requests are in flight', async () => {
    const gateway = await start();
    const headers = { 'x-request-id': 'a' };
    const get = await gateway.get('/access/v1/evaluation', headers);
    expect([get.status, get.headers.get('x-request-id')]).toEqual([405, 'a']);
    const full = await startFake({ inFlightMax: 0 });
    const refused = await one(full, ask('club/gold'), headers);
    expect([refused.status, refused.headers.get('x-request-id')]).toEqual([503, 'a']);
  });

  it('that is too long or not visible ASCII is ignored, and so it is on other paths', async () => {
    const gateway = await start();
    for (const id of ['x'.repeat(257), 'a b', 'é'])
      expect(
        (await one(gateway, ask('club/gold'), { 'x-request-id': id })).headers.get('x-request-id'),
      ).toBeNull();
    const longest = await one(gateway, ask('club/gold'), { 'x-request-id': 'x'.repeat(256) });
    expect(longest.headers.get('x-request-id')).toHaveLength(256);
    const chains = await gateway.get('/access-control/chains', { 'x-request-id': 'a' });
    expect(chains.headers.get('x-request-id')).toBeNull();
  });
});

describe('a list of evaluations', () => {
  it('is answered in its order, each entry with the defaults that it does not replace', async () => {
    const gateway = await start();
    const response = await list(gateway, {
      ...ask('club/gold'),
      evaluations: [
        {},
        { resource: role('club/silver') },
        { subject: wallet(BOB) },
        { resource: role('lost/lost') },
        { subject: 'bob' },
        { resource: role('nobody/gold') },
        7,
      ],
    });
    expect(response.status).toBe(200);
    const entries = await entriesOf(response);
    expect(entries.map(({ decision, context }) => [decision, context['outcome']])).toEqual([
      [true, 'granted'],
      [false, 'denied'],
      [false, 'denied'],
      [false, 'undetermined'],
      [false, 'undetermined'],
      [false, 'undetermined'],
      [false, 'undetermined'],
    ]);
    expect(entries[3]).toEqual({
      decision: false,
      context: {
        outcome: 'undetermined',
        error: { status: 503, message: expect.stringContaining('lost is not known.') },
      },
    });
    expect(entries.slice(4).map(({ context }) => context['error'])).toEqual([
      { status: 400, message: expect.stringContaining('/evaluations/4/subject') },
      { status: 400, message: expect.stringContaining('/evaluations/5/resource/id') },
      { status: 400, message: expect.stringContaining('/evaluations/6') },
    ]);
  });

  it('runs a check once for all of its entries, and charges each check once, together', async () => {
    const gateway = await start();
    const evaluations = [
      { resource: role('club/gold') },
      { resource: role('club/silver') },
      { resource: role('club/gold'), context: { time: 'now' } },
      { resource: role('club/gold'), subject: wallet(ALICE.toLowerCase()) },
      { resource: role('club/gold'), subject: wallet(BOB) },
      { resource: role('club/gold'), context: { onUndetermined: 'deny' } },
      { resource: role('nobody/gold') },
    ];
    expect((await list(gateway, { ...ask('club/gold'), evaluations })).status).toBe(200);
    expect(gateway.published).toHaveLength(3);
    expect(new Set(gateway.published.map(({ requestId }) => requestId)).size).toBe(3);
    expect(gateway.admitted).toEqual([
      expect.objectContaining({
        bucket: 'per-second',
        places: 3,
        check: expect.objectContaining({ cost: 3 }),
      }),
    ]);
    expect(gateway.released).toEqual([]);
  });

  it.each([
    ['absent', {}],
    ['empty', { evaluations: [], options: { evaluations_semantic: 'x' } }],
  ])('that is %s is answered as a single evaluation', async (_name, members) => {
    const gateway = await start();
    expect(await bodyOf(await list(gateway, { ...ask('club/gold'), ...members }))).toMatchObject({
      decision: true,
      context: { outcome: 'granted' },
    });
    expect((await list(gateway, { ...ask('lost/lost'), ...members })).status).toBe(503);
    expect((await list(gateway, { ...ask('club/bronze'), ...members })).status).toBe(400);
  });

  it('in which every entry is faulty runs nothing, and costs rate alone', async () => {
    const gateway = await start();
    const response = await list(gateway, { evaluations: [{}, ask('nobody/gold')] });
    expect(await outcomesOf(response)).toEqual([
      [false, 'undetermined'],
      [false, 'undetermined'],
    ]);
    expect(gateway.admitted).toEqual([expect.not.objectContaining({ check: expect.anything() })]);
  });

  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      context: { consistency: { minBlock: { '1': index } } },
    }));
  it.each([
    ['51 entries', { evaluations: Array.from({ length: 51 }, () => ({})) }, '/evaluations too-many'],
    ['17 distinct checks', { evaluations: many(17) }, '/evaluations too-many'],
    ['no list', { evaluations: { 0: {} } }, '/evaluations wrong-type'],
    [
      'an unknown semantic',
      { evaluations: [{}], options: { evaluations_semantic: 'all' } },
      '/options/evaluations_semantic not-a-choice',
    ],
    ['options that are none', { evaluations: [{}], options: 'all' }, '/options wrong-type'],
  ])('with %s is 400 as a whole', async (_name, members, expected) => {
    const gateway = await start();
    const response = await list(gateway, { ...ask('club/gold'), ...members });
    expect(response.status).toBe(400);
    const problem = await problemOf(response);
    expect(problem['code']).toBe('validation-failed');
    const errors = problem['errors'] as { pointer: string; code: string }[];
    expect(errors.map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([expected]);
    expect(gateway.published).toEqual([]);
  });

  it('may have 50 entries and 16 distinct checks', async () => {
    const gateway = await start();
    const evaluations = [...many(16), ...Array.from({ length: 34 }, () => many(1)[0])];
    const response = await list(gateway, { ...ask('club/gold'), evaluations });
    expect(await entriesOf(response)).toHaveLength(50);
    expect(gateway.published).toHaveLength(16);
  });

  it.each(['rate-limited', 'quota-exceeded'] as const)(
    'is 429 as a whole, and runs nothing, if the limits have no room for all of its checks: %s',
    async (outcome) => {
      const gateway = await start({
        admit: async (request) => anAdmission(request, request.check ? { outcome } : {}),
      });
      const evaluations = [{}, { subject: wallet(BOB) }];
      expect((await list(gateway, { ...ask('club/gold'), evaluations })).status).toBe(429);
      expect(gateway.published).toEqual([]);
    },
  );

  it('is 429 before anything is validated, if no second has places for all of its checks, and takes none', async () => {
    const gateway = await start({
      admit: async (request) => anAdmission(request, request.places ? { outcome: 'rate-limited' } : {}),
    });
    const response = await list(gateway, { ...ask('club/gold'), evaluations: many(16) });
    expect([response.status, response.headers.get('rolecall-accepted-at')]).toEqual([429, null]);
    expect(gateway.admitted).toEqual([expect.objectContaining({ bucket: 'per-second', places: 16 })]);
    expect(gateway.admitted.at(0)?.check).toBeUndefined();
  });

  it('has an entry for each check that could not be published, and the others are decided', async () => {
    const gateway: FakeGateway = await start({
      publish: async (message) => {
        if (message.account === BOB) throw new ServiceError('broker-unavailable', 'away');
        gateway.complete(message.requestId, evaluate(message));
      },
    });
    const response = await list(gateway, {
      ...ask('club/gold'),
      evaluations: [{}, { subject: wallet(BOB) }],
    });
    expect(await entriesOf(response)).toEqual([
      expect.objectContaining({ decision: true }),
      {
        decision: false,
        context: { outcome: 'undetermined', error: { status: 503, message: expect.any(String) } },
      },
    ]);
    expect(gateway.released).toEqual([chargeOf()]);
    expect(response.headers.get('ratelimit')).toContain('"per-month";r=10000;');
  });

  it('ends in 500 for a bug, never in a denial', async () => {
    const gateway = await start({ publish: () => Promise.reject(new Error('a bug')) });
    expect((await list(gateway, { ...ask('club/gold'), evaluations: [{}] })).status).toBe(500);
  });
});

/** What is given back of a charge. */
const chargeOf = (count?: number) => ({
  ...{ clientId: 'app_1', month: '2026-11', unwritten: expect.objectContaining({ accountId: 'account_1' }) },
  ...(count === undefined ? {} : { count }),
});

describe('the semantics of a list', () => {
  const GRANTED = { resource: role('club/gold') };
  const DENIED = { subject: wallet(BOB), resource: role('club/gold') };
  const LOST = { resource: role('lost/lost') };
  const FAULTY = { resource: role('nobody/gold') };
  const run = async (evaluations_semantic: string, evaluations: readonly object[]) => {
    const gateway = await start();
    const body = { ...ask('club/gold'), evaluations, options: { evaluations_semantic } };
    const response = await list(gateway, body);
    const outcomes = (await outcomesOf(response)).map(([, outcome]) => outcome);
    return { outcomes, ran: gateway.published.length, released: gateway.released, response };
  };

  it.each([
    ['execute_all', [GRANTED, DENIED, LOST], ['granted', 'denied', 'undetermined'], 3, []],
    ['deny_on_first_deny', [GRANTED, DENIED, LOST], ['granted', 'denied'], 2, [1]],
    ['deny_on_first_deny', [GRANTED, LOST, DENIED], ['granted', 'undetermined'], 2, [1]],
    ['deny_on_first_deny', [FAULTY, GRANTED, DENIED], ['undetermined'], 0, [2]],
    ['deny_on_first_deny', [GRANTED, GRANTED], ['granted', 'granted'], 1, []],
    ['deny_on_first_deny', [FAULTY, FAULTY], ['undetermined'], 0, []],
    ['permit_on_first_permit', [FAULTY, FAULTY], ['undetermined', 'undetermined'], 0, []],
    ['permit_on_first_permit', [DENIED, GRANTED, LOST], ['denied', 'granted'], 2, [1]],
    [
      'permit_on_first_permit',
      [LOST, FAULTY, GRANTED, DENIED],
      ['undetermined', 'undetermined', 'granted'],
      2,
      [1],
    ],
    ['permit_on_first_permit', [DENIED, LOST], ['denied', 'undetermined'], 2, []],
  ])(
    '%s answers up to the deciding entry, and what did not run is not charged',
    async (semantic, evaluations, expected, ran, refunded) => {
      const found = await run(semantic, evaluations);
      expect([found.outcomes, found.ran]).toEqual([expected, ran]);
      expect(found.released).toEqual(refunded.map(chargeOf));
    },
  );

  it.each([
    ['did not end until then', () => undefined],
    ['ended late', evaluate],
  ])(
    'begins no check after the deadline of the request, and does not charge it: the one before it %s',
    async (_, end) => {
      const now = jest.spyOn(performance, 'now');
      const gateway: FakeGateway = await start({
        syncDeadlineMs: 50,
        async publish(message) {
          const result = end(message);
          if (result === undefined) return;
          now.mockReturnValue(performance.now() + 50);
          gateway.complete(message.requestId, result);
        },
      });
      const options = { evaluations_semantic: 'permit_on_first_permit' };
      const response = await list(gateway, { ...ask('club/gold'), evaluations: [LOST, DENIED], options });
      expect(await outcomesOf(response)).toEqual([
        [false, 'undetermined'],
        [false, 'undetermined'],
      ]);
      expect(gateway.published).toHaveLength(1);
      expect(gateway.released).toEqual([chargeOf(1)]);
    },
  );

  it('does not charge the checks that a bug in another one kept from running', async () => {
    const gateway = await start({ publish: () => Promise.reject(new Error('a bug')) });
    const options = { evaluations_semantic: 'deny_on_first_deny' };
    const response = await list(gateway, { ...ask('club/gold'), evaluations: [GRANTED, DENIED], options });
    expect(response.status).toBe(500);
    // The first check was surely not published: its own charge is refunded too.
    expect(gateway.released).toEqual([chargeOf(), chargeOf(1)]);
    // And all bytes of the two records are given back.
    const given = gateway.released as { readonly unwritten: { readonly bytes: number } }[];
    expect(given.reduce((sum, { unwritten }) => sum + unwritten.bytes, 0)).toBe(
      gateway.admitted[0]?.check?.bytes,
    );
  });

  it('tells in the headers what is left after the refund', async () => {
    const { response } = await run('deny_on_first_deny', [DENIED, GRANTED]);
    expect(response.headers.get('ratelimit')).toContain('"per-month";r=10000;');
  });
});

describe('the metadata', () => {
  const PATH = '/.well-known/authzen-configuration';
  const metadataOf = (base: string) => ({
    policy_decision_point: base,
    access_evaluation_endpoint: `${base}/access/v1/evaluation`,
    access_evaluations_endpoint: `${base}/access/v1/evaluations`,
  });

  it('names the address and the endpoints, without a key and cacheable', async () => {
    const gateway = await start({ publicBaseUrl: 'https://api.example' });
    const response = await gateway.get(PATH, { 'x-api-key': '' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect(await response.json()).toEqual(metadataOf('https://api.example'));
  });

  it('is served at the root, and behind the well-known path with the path of the address', async () => {
    const base = 'https://api.example/gates/(1)';
    const gateway = await start({ publicBaseUrl: base });
    for (const path of [PATH, `${PATH}/gates/(1)`])
      expect(await bodyOf(await gateway.get(path))).toEqual(metadataOf(base));
    expect((await gateway.get(`${PATH}/gates`)).status).toBe(404);
  });

  it.each(['', 'http://api.example', 'http://api.example/gates'])(
    'is 404 for the address "%s"',
    async (publicBaseUrl) => {
      const gateway = await start({ publicBaseUrl });
      for (const path of [PATH, `${PATH}/gates`])
        expect((await problemOf(await gateway.get(path)))['code']).toBe('route-not-found');
    },
  );
});
