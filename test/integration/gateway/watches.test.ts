import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { A_LOCAL_CHECK, testGateways } from '../../support/systems/start-gateway.ts';

// Scenario: two real gateways on one Kafka and one Redis. Requests for the watches of an app, and
// for their rule sets, come to both gateways at once.

const stores = testStores(5);
const RULE_SETS = '/access-control/rule-sets';
const WATCHES = '/access-control/watches';
const RULES = { rules: A_LOCAL_CHECK.rules };
const watchOf = (ruleSet: string) => ({ ruleSet, callbackUrl: 'https://hooks.example.com/' });
const { gateways, anApp } = testGateways(stores);

test('a rule set that is deleted while a watch of it is put is either kept or unknown to the watch', async () => {
  const [one, two] = gateways;
  const app = await anApp();
  const outcomes = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const id = `set-${index}`;
      await one.send(app, 'PUT', `${RULE_SETS}/${id}`, RULES);
      const [put, deleted] = await Promise.all([
        one.send(app, 'PUT', `${WATCHES}/${id}`, watchOf(id)),
        two.send(app, 'DELETE', `${RULE_SETS}/${id}`),
      ]);
      return `${put.status} ${deleted.status}`;
    }),
  );
  expect(outcomes.filter((outcome) => outcome !== '201 409' && outcome !== '422 204')).toEqual([]);
});

test('a rule set is free again once its watch is deleted, or could not be put', async () => {
  const [one, two] = gateways;
  const app = await anApp();
  for (const id of ['a', 'b']) await one.send(app, 'PUT', `${RULE_SETS}/${id}`, RULES);
  const stale = await two.send(app, 'PUT', `${WATCHES}/w`, watchOf('a'), { 'if-match': '"7"' });
  expect([stale.status, (await two.send(app, 'DELETE', `${RULE_SETS}/a`)).status]).toEqual([412, 204]);
  await two.send(app, 'PUT', `${WATCHES}/w`, watchOf('b'));
  expect((await one.send(app, 'DELETE', `${RULE_SETS}/b`)).status).toBe(409);
  await one.send(app, 'DELETE', `${WATCHES}/w`);
  expect((await two.send(app, 'DELETE', `${RULE_SETS}/b`)).status).toBe(204);
});

test('a watch that is refused by its precondition takes no slot', async () => {
  const [one] = gateways;
  const app = await anApp({ tier: 'free' });
  await one.send(app, 'PUT', `${RULE_SETS}/a`, RULES);
  const headers = { 'if-match': '"1"' };
  expect((await one.send(app, 'PUT', `${WATCHES}/first`, watchOf('a'), headers)).status).toBe(412);
  expect((await one.send(app, 'PUT', `${WATCHES}/second`, watchOf('a'))).status).toBe(201);
  expect((await one.send(app, 'PUT', `${WATCHES}/third`, watchOf('a'))).status).toBe(409);
});

test('a change of members while another one of the app runs is 503 with the reason, and goes through after it', async () => {
  const [one] = gateways;
  const app = await anApp();
  await one.send(app, 'PUT', `${RULE_SETS}/a`, RULES);
  await one.send(app, 'PUT', `${WATCHES}/w`, watchOf('a'));
  const { lock, unlock } = makeWatchMembers(stores.redis);
  await lock(app.document.clientId, 'another', 60_000);
  const add = () => one.send(app, 'POST', `${WATCHES}/w/members`, { add: [A_LOCAL_CHECK.account] });
  const refused = await add();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toMatchObject({
    code: 'overloaded',
    detail: 'Another request changes the members of this client app. Retry after the seconds in Retry-After.',
  });
  await unlock(app.document.clientId, 'another');
  expect((await add()).status).toBe(200);
});

test('changes of members that an app sends at the same time are all applied', async () => {
  const [one, two] = gateways;
  const app = await anApp();
  await one.send(app, 'PUT', `${RULE_SETS}/a`, RULES);
  await one.send(app, 'PUT', `${WATCHES}/w`, watchOf('a'));
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      (index % 2 ? two : one).send(app, 'POST', `${WATCHES}/w/members`, {
        add: [{ account: A_LOCAL_CHECK.account, ref: `member-${index}` }],
      }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(await (await one.send(app, 'GET', `${WATCHES}/w`)).json()).toMatchObject({ members: 8 });
});
