import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import { digestOfRules } from '#shared/contracts/rules/rules-digest.ts';
import {
  A_CHECK,
  anAdmission,
  anAppWithKey,
  aResult,
  type FakeGateway,
  NOW_MS,
} from '../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../test/support/fakes/fake-gateways.ts';
import { makeFakeRuleSets } from '../../test/support/fakes/fake-rule-sets.ts';

/** Stored rule sets at the gateway's HTTP surface, over fakes. */

const start = fakeGateways();
const PATH = '/access-control/rule-sets';
const RULE = { type: 'NATIVE', chainId: 1, roleId: 'holder' };
const BODY = { rules: [RULE] };
const put = (gateway: FakeGateway, id: string, body: unknown = BODY, headers = {}) =>
  gateway.send('PUT', `${PATH}/${id}`, body, headers);

test('a new rule set is 201 with version, digest, defaults and ETag, and is read back the same', async () => {
  const gateway = await start();
  const body = { name: 'Holders', rules: [{ ...RULE, name: 'kept as sent' }] };
  const created = await put(gateway, 'holders', body);
  expect(created.status).toBe(201);
  expect(created.headers.get('etag')).toBe('"1"');
  expect(created.headers.get('location')).toBe(`${PATH}/holders`);
  const ruleSet = await created.json();
  expect(ruleSet).toEqual({
    ruleSetId: 'holders',
    version: 1,
    digest: digestOfRules(body.rules, 'omit'),
    name: 'Holders',
    rules: body.rules,
    onUndetermined: 'omit',
    updatedAt: expect.any(String),
  });
  const read = await gateway.get(`${PATH}/holders`);
  expect(read.headers.get('etag')).toBe('"1"');
  expect(await read.json()).toEqual(ruleSet);
});

test('only changes of rules and onUndetermined raise the version', async () => {
  const ruleSets = makeFakeRuleSets();
  const gateway = await start({ ruleSets });
  const versionOf = async (body: unknown) => {
    const answer = await put(gateway, 'a', body);
    return [answer.status, answer.headers.get('etag')];
  };
  expect(await versionOf(BODY)).toEqual([201, '"1"']);
  expect(await versionOf({ ...BODY, onUndetermined: 'omit' })).toEqual([200, '"1"']);
  expect(ruleSets.audited).toHaveLength(1);
  expect(await versionOf({ ...BODY, name: 'A' })).toEqual([200, '"1"']);
  expect(ruleSets.audited).toHaveLength(2);
  expect(await versionOf({ ...BODY, onUndetermined: 'deny' })).toEqual([200, '"2"']);
  expect(await versionOf({ rules: [{ ...RULE, minToken: '2' }] })).toEqual([200, '"3"']);
  expect(ruleSets.audited.at(-1)).toBe('key_1 rule-set-written a');
});

test.each<[string, Record<string, string>, number]>([
  ['If-Match of the current version', { 'if-match': '"1"' }, 200],
  ['If-Match of another version', { 'if-match': '"2"' }, 412],
  ['If-Match *', { 'if-match': '*' }, 200],
  ['If-None-Match *', { 'if-none-match': '*' }, 412],
  ['If-Match without quotes', { 'if-match': '1' }, 422],
])('%s on an existing rule set is answered %3$s', async (_, headers, status) => {
  const gateway = await start();
  await put(gateway, 'a');
  const answer = await put(gateway, 'a', { rules: [{ ...RULE, minToken: '2' }] }, headers);
  expect(answer.status).toBe(status);
  if (status === 412) expect((await problemOf(answer))['code']).toBe('version-conflict');
});

test('If-None-Match * creates, and If-Match does not', async () => {
  const gateway = await start();
  expect((await put(gateway, 'a', BODY, { 'if-match': '"1"' })).status).toBe(412);
  expect((await put(gateway, 'a', BODY, { 'if-none-match': '*' })).status).toBe(201);
});

test('every fault of a body is listed by pointer, the id and the headers too', async () => {
  const gateway = await start();
  const body = {
    name: 7,
    rules: [
      { ...RULE, chainId: 5 },
      { ...RULE, minToken: 1 },
    ],
    more: true,
  };
  const answer = await put(gateway, 'Upper', body, { 'if-match': 'x' });
  expect(answer.status).toBe(422);
  const { errors } = (await problemOf(answer)) as { errors: { pointer: string; code: string }[] };
  expect(errors.map(({ pointer, code }) => `${pointer} ${code}`).sort()).toEqual([
    ' id-malformed',
    ' precondition-malformed',
    '/more unknown-member',
    '/name wrong-type',
    '/rules/0/chainId chain-unsupported',
    '/rules/1/minToken wrong-type',
  ]);
});

test.each(['', '-a', 'a'.repeat(65), 'a%20b', '%ff', 'é'])('the id %j is not an id', async (id) => {
  const gateway = await start();
  const answers = [await put(gateway, id), await gateway.get(`${PATH}/${id}`)];
  expect(answers.map(({ status }) => status)).toEqual(id === '' ? [404, 404] : [422, 404]);
});

test('an enterprise app stores up to 1000 rules, any other up to 100', async () => {
  const rules = (count: number) => ({ rules: Array.from({ length: count }, () => RULE) });
  const free = await start();
  expect((await put(free, 'a', rules(101))).status).toBe(422);
  const limits = appLimitsOf({ tier: 'enterprise' });
  const enterprise = await start({ app: anAppWithKey({ limits }) });
  expect((await put(enterprise, 'a', rules(1_000))).status).toBe(201);
  expect((await put(enterprise, 'a', rules(1_001))).status).toBe(422);
});

test('the eleventh rule set of a free app is 409 limit-reached, and a deletion makes room', async () => {
  const gateway = await start();
  for (let i = 0; i < 10; i++) expect((await put(gateway, `set-${i}`)).status).toBe(201);
  const refused = await put(gateway, 'one-more');
  expect(refused.status).toBe(409);
  expect((await problemOf(refused))['code']).toBe('limit-reached');
  expect((await gateway.send('DELETE', `${PATH}/set-0`)).status).toBe(204);
  expect((await put(gateway, 'one-more')).status).toBe(201);
});

test('a used-up daily budget is 429, and only changes draw from it', async () => {
  const gateway = await start({ ruleSets: makeFakeRuleSets({ writesLeft: 1 }) });
  expect((await put(gateway, 'a')).status).toBe(201);
  expect((await put(gateway, 'a')).status).toBe(200);
  expect((await gateway.send('DELETE', `${PATH}/none`)).status).toBe(204);
  const refused = await gateway.send('DELETE', `${PATH}/a`);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('60');
  expect(await problemOf(refused)).toMatchObject({
    code: 'rate-limited',
    'violated-policies': ['writes-per-day'],
  });
});

test('a rule set that a watch refers to cannot be deleted', async () => {
  const gateway = await start({ ruleSets: makeFakeRuleSets({ used: ['a'] }) });
  await put(gateway, 'a');
  const refused = await gateway.send('DELETE', `${PATH}/a`);
  expect(refused.status).toBe(409);
  expect((await problemOf(refused))['code']).toBe('rule-set-in-use');
});

test('DELETE is 204 with or without a rule set, and a recreated rule set continues its version count', async () => {
  const gateway = await start();
  expect((await gateway.send('DELETE', `${PATH}/a`)).status).toBe(204);
  await put(gateway, 'a');
  expect((await gateway.send('DELETE', `${PATH}/a`)).status).toBe(204);
  expect((await problemOf(await gateway.get(`${PATH}/a`)))['code']).toBe('rule-set-not-found');
  const again = await put(gateway, 'a');
  expect([again.status, again.headers.get('etag')]).toEqual([201, '"2"']);
});

test('a list is in pages by id', async () => {
  const gateway = await start();
  for (const id of ['c', 'a', 'b']) await put(gateway, id);
  const page = async (query: string) => {
    const { ruleSets, next } = (await (await gateway.get(PATH + query)).json()) as {
      ruleSets: { ruleSetId: string }[];
      next?: string;
    };
    return { ids: ruleSets.map(({ ruleSetId }) => ruleSetId), next };
  };
  expect(await page('')).toEqual({ ids: ['a', 'b', 'c'], next: undefined });
  expect(await page('?limit=2')).toEqual({ ids: ['a', 'b'], next: 'b' });
  expect(await page('?limit=2&after=b')).toEqual({ ids: ['c'], next: undefined });
});

test.each(['limit=0', 'limit=201', 'limit=x', 'after=A'])('a list with ?%s is 422', async (query) => {
  const gateway = await start();
  const answer = await gateway.get(`${PATH}?${query}`);
  expect(answer.status).toBe(422);
  const { errors } = (await problemOf(answer)) as { errors: { pointer: string; detail: string }[] };
  expect(errors).toEqual([
    expect.objectContaining({ pointer: '', detail: expect.stringContaining(query.split('=')[0] ?? '') }),
  ]);
});

test('reads cost the poll rate and writes the rate, and none costs quota', async () => {
  const gateway = await start();
  await put(gateway, 'a');
  await gateway.get(`${PATH}/a`);
  await gateway.get(PATH);
  await gateway.send('DELETE', `${PATH}/a`);
  await put(gateway, 'a', 'not json');
  expect(gateway.admitted.map(({ bucket, check }) => [bucket, check])).toEqual([
    ['per-second', undefined],
    ['per-second-poll', undefined],
    ['per-second-poll', undefined],
    ['per-second', undefined],
    ['per-second', undefined],
  ]);
});

test('an invalid body above the rate gets 429, and nothing is written', async () => {
  const ruleSets = makeFakeRuleSets();
  const gateway = await start({
    ruleSets,
    admit: async (request) => anAdmission(request, { outcome: 'rate-limited' }),
  });
  expect((await put(gateway, 'a', 'not json')).status).toBe(429);
  expect((await put(gateway, 'a')).status).toBe(429);
  expect(ruleSets.stored.size).toBe(0);
});

test.each(['POST', 'PATCH', 'HEAD', 'OPTIONS'])('%s on a rule set is 405', async (method) => {
  const gateway = await start();
  const answer = await gateway.send(method, `${PATH}/a`);
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, PUT, DELETE']);
});

describe('a check by rule set', () => {
  const check = { account: A_CHECK.account, ruleSet: 'a', async: true };

  it('carries the rules and the version of the set at its acceptance', async () => {
    const gateway = await start();
    await put(gateway, 'a', { rules: [{ ...RULE, name: 'n' }], onUndetermined: 'deny' });
    await gateway.post(check);
    await put(gateway, 'a', { rules: [{ ...RULE, minToken: '2' }] });
    await gateway.post(check);
    expect(
      gateway.published.map(({ rules, ruleSet, onUndetermined }) => ({ rules, ruleSet, onUndetermined })),
    ).toEqual([
      {
        rules: [{ ...RULE, minToken: '1' }],
        ruleSet: { id: 'a', version: 1, digest: digestOfRules([{ ...RULE, name: 'n' }], 'deny') },
        onUndetermined: 'deny',
      },
      {
        rules: [{ ...RULE, minToken: '2' }],
        ruleSet: { id: 'a', version: 2, digest: digestOfRules([{ ...RULE, minToken: '2' }], 'omit') },
        onUndetermined: 'omit',
      },
    ]);
  });

  it('may override onUndetermined', async () => {
    const gateway = await start();
    await put(gateway, 'a', { ...BODY, onUndetermined: 'deny' });
    await gateway.post({ ...check, onUndetermined: 'fail' });
    expect(gateway.published[0]?.onUndetermined).toBe('fail');
  });

  it.each(['b', 'not an id', ''])('answers 422 rule-set-unknown for the unknown set %j', async (ruleSet) => {
    const gateway = await start();
    const answer = await gateway.post({ ...check, ruleSet });
    expect(answer.status).toBe(422);
    expect(await problemOf(answer)).toMatchObject({
      code: 'rule-set-unknown',
      errors: [{ pointer: '/ruleSet', code: 'rule-set-unknown' }],
    });
  });

  it('does not find the set of another client app', async () => {
    const ruleSets = makeFakeRuleSets();
    await put(await start({ ruleSets }), 'a');
    const other = await start({ ruleSets, app: anAppWithKey({ clientId: 'app_2' }) });
    expect((await problemOf(await other.post(check)))['code']).toBe('rule-set-unknown');
    expect((await other.get(`${PATH}/a`)).status).toBe(404);
  });

  it('is the same check for its idempotency key after the set has changed', async () => {
    const gateway = await start();
    await put(gateway, 'a');
    await gateway.post(check, { 'idempotency-key': 'k' });
    await put(gateway, 'a', { rules: [{ ...RULE, minToken: '2' }] });
    await gateway.post(check, { 'idempotency-key': 'k' });
    const hashes = gateway.admitted.flatMap((request) => request.check?.claim?.bodyHash ?? []);
    expect(hashes).toHaveLength(2);
    expect(new Set(hashes).size).toBe(1);
  });

  it('is looked for under its idempotency key, and never begun, once the set was deleted', async () => {
    const gateway = await start();
    await put(gateway, 'a');
    const headers = { 'idempotency-key': 'k' };
    await gateway.post(check, headers);
    await gateway.send('DELETE', `${PATH}/a`);
    expect((await problemOf(await gateway.post(check, headers)))['code']).toBe('rule-set-unknown');
    const asked = gateway.admitted.flatMap((request) => request.check ?? []);
    expect(asked.map(({ isReplayOnly }) => isReplayOnly ?? false)).toEqual([false, true]);
    expect(asked[1]?.claim?.bodyHash).toBe(asked[0]?.claim?.bodyHash);
    expect(gateway.published).toHaveLength(1);
  });

  it('gets its stored result in sync mode by its idempotency key after the set was deleted', async () => {
    const claim = { atMs: NOW_MS, seed: 's', requestId: 'first', month: '2026-11' };
    const gateway = await start({
      admit: async (asked) => anAdmission(asked, { outcome: 'published', claim }),
    });
    gateway.complete('first', aResult('first'));
    const answer = await gateway.post({ ...check, async: false }, { 'idempotency-key': 'k' });
    expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(await answer.json()).toMatchObject({ requestId: 'first', status: 'completed' });
  });

  it('waits for its result like any other', async () => {
    const gateway: FakeGateway = await start({
      publish: async ({ requestId }) => gateway.complete(requestId, aResult(requestId)),
    });
    await put(gateway, 'a');
    expect((await gateway.post({ account: A_CHECK.account, ruleSet: 'a' })).status).toBe(200);
  });
});
