import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import {
  A_LOCAL_CHECK,
  type RunningGateway,
  type TestApp,
  testGateways,
} from '../../support/systems/start-gateway.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: two real gateways on one Kafka and one Redis. Clients write rule sets at one of them or
// at both at once, and use them at the other. Limits and versions stay exact, and every gateway
// sees a change.

const stores = testStores(4);
const PATH = '/access-control/rule-sets';
const RULE = A_LOCAL_CHECK.rules[0];
const rulesOf = (minToken: string) => ({ rules: [{ ...RULE, minToken }] });
const { gateways, anApp } = testGateways(stores);

/**
 * The statuses of requests that an app sends at once, in rounds with an app each until the store
 * was fast enough for every request: a request that ends in 503 may or may not have had its effect.
 */
const allAtOnce = (
  limits: Parameters<typeof anApp>[0],
  send: (app: TestApp) => readonly Promise<Response>[],
) =>
  waitUntil('a round without a 503', async () => {
    const app = await anApp(limits);
    const statuses = (await Promise.all(send(app))).map(({ status }) => status).sort();
    return !statuses.includes(503) && { app, statuses };
  });

/** The rule set version that this gateway uses for a check. */
async function versionAt(gateway: RunningGateway, app: TestApp, ruleSet: string) {
  const answer = await gateway.post(app, { account: A_LOCAL_CHECK.account, ruleSet, async: true });
  if (answer.status !== 202) return answer.status;
  const { requestId } = (await answer.json()) as { requestId: string };
  let version: number | undefined;
  await stores.kafka.readTopic({
    topic: checkRequestedBulk.name,
    signal: AbortSignal.timeout(120_000),
    async apply(records) {
      for (const { value } of records) {
        const check = parseMessage(checkRequestedBulk, value);
        if (check.requestId === requestId) version = check.ruleSet?.version;
      }
    },
  });
  return `version ${version}`;
}

test('a change or a deletion at one gateway takes effect at the other', async () => {
  const [one, two] = gateways;
  const app = await anApp();
  expect(await versionAt(two, app, 'a')).toBe(422);
  expect((await one.send(app, 'PUT', `${PATH}/a`, rulesOf('1'))).status).toBe(201);
  await waitUntil('the new set', async () => (await versionAt(two, app, 'a')) === 'version 1');
  expect((await one.send(app, 'PUT', `${PATH}/a`, rulesOf('2'))).status).toBe(200);
  // The gateway that was written to has it at once.
  expect(await versionAt(one, app, 'a')).toBe('version 2');
  await waitUntil('the new version', async () => (await versionAt(two, app, 'a')) === 'version 2');
  expect((await two.send(app, 'DELETE', `${PATH}/a`)).status).toBe(204);
  await waitUntil('the deletion', async () => (await versionAt(one, app, 'a')) === 422);
});

test('concurrent creations at the limit fill the free slots exactly', async () => {
  const { app, statuses } = await allAtOnce({ tier: 'free' }, (app) =>
    Array.from({ length: 30 }, (_, i) =>
      gateways[i % 2 ? 1 : 0].send(app, 'PUT', `${PATH}/set-${i}`, rulesOf('1')),
    ),
  );
  expect(statuses).toEqual([...Array(10).fill(201), ...Array(20).fill(409)]);
  const list = await gateways[0].get(app, `${PATH}?limit=200`);
  expect(((await list.json()) as { ruleSets: unknown[] }).ruleSets).toHaveLength(10);
});

test('one of several concurrent writes over one version wins, and the others get 412', async () => {
  const { app, statuses } = await allAtOnce({}, (app) => {
    const first = gateways[0].send(app, 'PUT', `${PATH}/a`, rulesOf('1'));
    const others = Array.from({ length: 8 }, async (_, i) => {
      await first;
      return gateways[i % 2 ? 1 : 0].send(app, 'PUT', `${PATH}/a`, rulesOf(String(i + 2)), {
        'if-match': '"1"',
      });
    });
    return [first, ...others];
  });
  expect(statuses).toEqual([200, 201, ...Array(7).fill(412)]);
  expect((await gateways[1].get(app, `${PATH}/a`)).headers.get('etag')).toBe('"2"');
});

test('concurrent writes without a precondition each make a version', async () => {
  const { app, statuses } = await allAtOnce({}, (app) =>
    Array.from({ length: 6 }, (_, i) =>
      gateways[i % 2 ? 1 : 0].send(app, 'PUT', `${PATH}/a`, rulesOf(String(i + 1))),
    ),
  );
  expect(statuses).toEqual([200, 200, 200, 200, 200, 201]);
  expect((await gateways[0].get(app, `${PATH}/a`)).headers.get('etag')).toBe('"6"');
});

test('a retry after the set has changed returns the first id', async () => {
  const [one] = gateways;
  const app = await anApp();
  await one.send(app, 'PUT', `${PATH}/a`, rulesOf('1'));
  const check = { account: A_LOCAL_CHECK.account, ruleSet: 'a', async: true };
  const headers = { 'idempotency-key': 'k' };
  const first = await (await one.post(app, check, headers)).json();
  await one.send(app, 'PUT', `${PATH}/a`, rulesOf('2'));
  const again = await one.post(app, check, headers);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(await again.json()).toEqual(first);
});

test.each<[string, string, object]>([
  ['an asynchronous check', '', { account: A_LOCAL_CHECK.account, async: true }],
  ['a batch', '/batch', { entries: [A_LOCAL_CHECK.account, { account: A_LOCAL_CHECK.account, ref: 'b' }] }],
])('a retry of %s after its set was deleted returns the first id', async (_, path, body) => {
  const [one, two] = gateways;
  const app = await anApp();
  await one.send(app, 'PUT', `${PATH}/a`, rulesOf('1'));
  // A block of a chain is judged by the chains that the rules name.
  const asked = { ...body, ruleSet: 'a', consistency: { minBlock: { [RULE.chainId]: 1 } } };
  const post = (gateway: RunningGateway, key: string, changes = {}) =>
    gateway.send(
      app,
      'POST',
      `/access-control/check-roles${path}`,
      { ...asked, ...changes },
      {
        'idempotency-key': key,
      },
    );
  const accepted = await post(one, 'k');
  expect(accepted.status).toBe(202);
  const first = await accepted.json();
  expect((await one.send(app, 'DELETE', `${PATH}/a`)).status).toBe(204);
  await waitUntil('the deletion', async () => (await versionAt(two, app, 'a')) === 422);
  for (const gateway of gateways) {
    const again = await post(gateway, 'k');
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([202, 'true']);
    expect(await again.json()).toEqual(first);
    // The same key with another body, and a key that was not used.
    const codes = [];
    for (const answer of [await post(gateway, 'k', { onUndetermined: 'deny' }), await post(gateway, 'new')])
      codes.push(answer.status, ((await answer.json()) as { code: string }).code);
    expect(codes).toEqual([422, 'idempotency-key-reused', 422, 'rule-set-unknown']);
  }
});

test('the daily budget of an app holds across gateways, and its refusal says when the budget renews', async () => {
  const { app, statuses } = await allAtOnce({ writesPerDay: 3 }, (app) =>
    Array.from({ length: 5 }, (_, i) =>
      gateways[i % 2 ? 1 : 0].send(app, 'PUT', `${PATH}/set-${i}`, rulesOf('1')),
    ),
  );
  expect(statuses).toEqual([201, 201, 201, 429, 429]);
  const refused = await gateways[0].send(app, 'PUT', `${PATH}/more`, rulesOf('1'));
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000);
});

test('a wiped Redis gets the rule sets back from the topic, with their versions and audit entries', async () => {
  const [one, two] = gateways;
  const app = await anApp();
  await one.send(app, 'PUT', `${PATH}/a`, rulesOf('1'));
  await one.send(app, 'PUT', `${PATH}/a`, { ...rulesOf('2'), name: 'A' });
  await one.send(app, 'PUT', `${PATH}/gone`, rulesOf('1'));
  await one.send(app, 'DELETE', `${PATH}/gone`);
  const before = await (await one.get(app, PATH)).json();
  await stores.redis.flushdb();
  await stores.replay();
  await makeClientApps(stores.redis).project(app.document);
  expect(await (await two.get(app, PATH)).json()).toEqual(before);
  expect((await two.send(app, 'PUT', `${PATH}/a`, rulesOf('3'), { 'if-match': '"2"' })).status).toBe(200);
  const entries = await openViews(stores.redis).auditTrail.ofApp(app.document.clientId, 10);
  // Repeats within an hour are one entry, dated by the last.
  const told = entries.map(({ actor, action, subject }) => `${actor} ${action} ${subject}`);
  expect([...new Set(told)]).toEqual([
    'key_1 rule-set-written a',
    'key_1 rule-set-deleted gone',
    'key_1 rule-set-written gone',
  ]);
});
