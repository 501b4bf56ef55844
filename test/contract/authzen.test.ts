import { aCheckResult } from '../support/builders/a-check-result.ts';
import { anAdmission, type FakeGateway, type FakeOptions } from '../support/fakes/fake-gateway.ts';
import { fakeGateways } from '../support/fakes/fake-gateways.ts';
import { makeFakeRuleSets } from '../support/fakes/fake-rule-sets.ts';
import { type Ask, expectDocumented, testProblems } from '../support/judges/documented-answers.ts';

// The levels Basic Core, Batch Core and Discovery of "AuthZEN Authorization API 1.0 - Certification
// Scenario" (openid/authzen, certification/authorization-api-1_0-scenario.md, 2026), with its
// fixture as rule sets: its subjects are wallets here, its records are rule sets, and as the name of
// an action changes nothing, its actions are roles. The numbers are those of its sections.

const startFake = fakeGateways();

const ALICE = '0x52908400098527886E0F7030069857D2E4169EE7';
const BOB = '0x8617E340B3D01FA5F11F306F4090FD50E238070D';
const BASE = 'https://pdp.example.com/tenant1';
const GRANTED = new Set([`read ${ALICE}`, `write ${ALICE}`, `read ${BOB}`]);

const RULES = ['read', 'write'].map((roleId) => ({ type: 'NATIVE', chainId: 1, roleId }));

/** @param rules of both records */
async function start(options: FakeOptions = {}, rules: readonly object[] = RULES): Promise<FakeGateway> {
  const gateway: FakeGateway = await startFake({
    ruleSets: makeFakeRuleSets(),
    publicBaseUrl: BASE,
    publish: async ({ requestId, account }) => {
      const roles = RULES.map(({ roleId }) => ({ id: roleId, granted: GRANTED.has(`${roleId} ${account}`) }));
      gateway.complete(requestId, aCheckResult({ requestId, roles }));
    },
    ...options,
  });
  for (const id of ['record-1', 'record-2'])
    await gateway.send('PUT', `/access-control/rule-sets/${id}`, { rules });
  return gateway;
}

const alice = { type: 'wallet', id: ALICE };
const bob = { type: 'wallet', id: BOB };
const action = { name: 'read' };
const toDo = (role: string, record = 'record-1') => ({ type: 'role', id: `${record}/${role}` });
const READ = { subject: alice, action, resource: toDo('read') };

const one = (gateway: FakeGateway, body: unknown, headers?: Record<string, string>) =>
  gateway.send('POST', '/access/v1/evaluation', body, headers);
const list = (gateway: FakeGateway, body: unknown, headers?: Record<string, string>) =>
  gateway.send('POST', '/access/v1/evaluations', body, headers);

/** The decision of a documented answer. */
async function decisionOf(response: Response): Promise<unknown> {
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  return (await expectDocumented('evaluateAccess', response))['decision'];
}

async function decisionsOf(response: Response): Promise<readonly unknown[]> {
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  const answer = await expectDocumented('evaluateAccesses', response);
  expect(answer).not.toHaveProperty('decision');
  return (answer['evaluations'] as { readonly decision: unknown }[]).map(({ decision }) => decision);
}

describe('Basic Core', () => {
  test.each([
    ['2.2.1, a permit', READ, true],
    ['2.2.2, a denial', { subject: bob, action, resource: toDo('write') }, false],
    ['2.2.3, a context', { ...READ, context: { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' } }, true],
    [
      '2.2.8, further properties',
      {
        subject: { ...alice, properties: { department: 'Sales', role: 'manager' } },
        action: { ...action, properties: { method: 'GET' } },
        resource: { ...READ.resource, properties: { status: 'active', owner: 'bob' } },
      },
      true,
    ],
    ['2.2.9, unknown members', { ...READ, foo: 'bar', futureField: { nested: true } }, true],
  ])('%s', async (_name, body, decision) => {
    expect(await decisionOf(await one(await start(), body))).toBe(decision);
  });

  const { subject: _subject, ...noSubject } = READ;
  const { action: _action, ...noAction } = READ;
  const { resource: _resource, ...noResource } = READ;
  test.each([
    ['2.4.1, no subject', noSubject],
    ['2.4.1, no action', noAction],
    ['2.4.1, no resource', noResource],
    ['2.4.2, a subject without type', { ...READ, subject: { id: ALICE } }],
    ['2.4.2, a subject without id', { ...READ, subject: { type: 'wallet' } }],
    ['2.4.2, an action without name', { ...READ, action: {} }],
    ['2.4.2, a resource without type', { ...READ, resource: { id: 'record-1/read' } }],
    ['2.4.2, a resource without id', { ...READ, resource: { type: 'role' } }],
    ['2.4.4, malformed JSON', '{"subject":'],
    ['2.4.5, an empty body', ''],
    ['2.4.6, a subject that is a text', { ...READ, subject: 'alice' }],
    ['2.4.6, a name that is a number', { ...READ, action: { name: 123 } }],
  ])('%s, is 400', async (_name, body) => {
    const response = await one(await start(), body);
    expect(response.status).toBe(400);
    await expectDocumented('evaluateAccess', response);
  });

  test('2.4.3, another content type, is 400', async () => {
    const response = await one(await start(), JSON.stringify(READ), { 'content-type': 'text/plain' });
    expect(response.status).toBe(400);
  });

  test('2.5, X-Request-ID is repeated, and may be absent', async () => {
    const gateway = await start();
    const id = 'bfe9eb29-ab87-4ca3-be83-a1d5d8305716';
    expect((await one(gateway, READ, { 'x-request-id': id })).headers.get('x-request-id')).toBe(id);
    expect((await one(gateway, READ)).status).toBe(200);
  });

  test('2.6, the same request has the same decision each time', async () => {
    const gateway = await start();
    for (let i = 0; i < 5; i++) expect(await decisionOf(await one(gateway, READ))).toBe(true);
  });
});

describe('Batch Core', () => {
  test.each([
    [
      '3.2.1, resources',
      {
        subject: alice,
        action,
        evaluations: [{ resource: toDo('read') }, { resource: toDo('read', 'record-2') }],
      },
      [true, true],
    ],
    [
      '3.2.2, decisions in the order of the entries',
      { subject: bob, action, evaluations: [{ resource: toDo('read') }, { resource: toDo('write') }] },
      [true, false],
    ],
    [
      '3.2.5, no defaults',
      { evaluations: [READ, { subject: bob, action, resource: toDo('write') }] },
      [true, false],
    ],
    [
      '3.2.6, an inherited and a replaced context',
      {
        ...READ,
        context: { time: '2025-06-27T18:03-07:00' },
        evaluations: [{}, { context: { time: '2025-06-27T19:00-07:00', source: 'batch-override' } }],
      },
      [true, true],
    ],
    [
      '3.4.1, an entry without resource',
      {
        subject: alice,
        action,
        options: { evaluations_semantic: 'execute_all' },
        evaluations: [{ resource: toDo('read') }, {}],
      },
      [true, false],
    ],
  ])('%s', async (_name, body, decisions) => {
    expect(await decisionsOf(await list(await start(), body))).toEqual(decisions);
  });
});

test('Discovery: the metadata names the address that it was found by, and https endpoints', async () => {
  const gateway = await start();
  const response = await gateway.get('/.well-known/authzen-configuration/tenant1', { 'x-api-key': '' });
  const metadata = await expectDocumented('readDecisionPoint', response);
  expect(metadata).toEqual({
    policy_decision_point: BASE,
    access_evaluation_endpoint: `${BASE}/access/v1/evaluation`,
    access_evaluations_endpoint: `${BASE}/access/v1/evaluations`,
  });
});

const ASKS = {
  evaluateAccess: (gateway, headers) => one(gateway, READ, headers),
  evaluateAccesses: (gateway, headers) => list(gateway, READ, headers),
} as const satisfies Record<string, Ask>;
const LARGE = Array.from({ length: 10 }, (_, index) => ({
  type: 'ERC1155',
  chainId: 1,
  contractAddress: ALICE,
  roleId: 'read',
  tokenId: `${index * 256}-${index * 256 + 255}`,
}));

const problemsBy = (send: typeof one) => ({
  'malformed-json': async () => send(await start(), '{'),
  'body-too-large': async () => send(await start(), 'x'.repeat(300_000)),
  'validation-failed': async () => send(await start(), {}),
  'account-format-unsupported': async () =>
    send(await start(), { ...READ, subject: { ...alice, id: 'vitalik.eth' } }),
  'rule-set-unknown': async () => send(await start(), { ...READ, resource: toDo('read', 'record-3') }),
  'too-many-reads': async () => send(await start({}, LARGE), READ),
  'chain-unsupported': async () => {
    const ruleSets = makeFakeRuleSets();
    const gateway = await start({ ruleSets });
    // Stored while the chain was still configured.
    for (const [key, stored] of ruleSets.stored)
      ruleSets.stored.set(key, { ...stored, rules: [{ type: 'NATIVE', chainId: 2, roleId: 'read' }] });
    return send(gateway, READ);
  },
  'monthly-quota-exceeded': async () => {
    const admit: FakeOptions['admit'] = async (request) =>
      anAdmission(request, request.check ? { outcome: 'quota-exceeded' } : {});
    return send(await start({ admit }), READ);
  },
  'evaluation-unavailable': async () => {
    const gateway: FakeGateway = await start({
      publish: async ({ requestId }) => {
        const errors = [
          { ruleIndex: 0, roleId: 'read', code: 'contract-not-found', retryable: false },
        ] as const;
        gateway.complete(requestId, aCheckResult({ requestId, status: 'failed', errors }));
      },
    });
    return send(gateway, READ);
  },
  'deadline-exceeded': async () =>
    send(await start({ syncDeadlineMs: 10, publish: async () => undefined }), READ),
});

testProblems(start, ASKS, { evaluateAccess: problemsBy(one), evaluateAccesses: problemsBy(list) });
