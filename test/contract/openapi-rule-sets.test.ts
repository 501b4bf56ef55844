import { RULE_SET_EXAMPLE, RULE_SET_EXAMPLES } from '../../services/gateway/docs/examples.ts';
import type { FakeGateway } from '../support/fakes/fake-gateway.ts';
import { fakeGateways } from '../support/fakes/fake-gateways.ts';
import { makeFakeRuleSets } from '../support/fakes/fake-rule-sets.ts';
import {
  type Ask,
  expectDocumented,
  type OperationName,
  testProblems,
  validatorOf,
} from '../support/judges/documented-answers.ts';

// The OpenAPI document of stored rule sets: every documented answer is produced here and validated
// against it.

const start = fakeGateways();
const PATH = '/access-control/rule-sets';
const RULE = { type: 'NATIVE', chainId: 1, roleId: 'holder' };
const putRule =
  (rule: object): Ask =>
  (gateway) =>
    put(gateway, { rules: [rule] });
const put = (gateway: FakeGateway, body: unknown = { rules: [RULE] }, headers = {}) =>
  gateway.send('PUT', `${PATH}/a`, body, headers);

type Name = Extract<OperationName, `${string}RuleSet${string}`>;

/** A successful request of each operation. */
const ASKS: Readonly<Record<Name, Ask>> = {
  listRuleSets: (gateway, headers) => gateway.get(PATH, headers),
  readRuleSet: (gateway, headers) => gateway.get(`${PATH}/a`, headers),
  putRuleSet: (gateway, headers) => put(gateway, undefined, headers),
  deleteRuleSet: (gateway, headers) => gateway.send('DELETE', `${PATH}/a`, undefined, headers),
};

const ask = async (make: Ask, ...options: Parameters<typeof start>) => make(await start(...options));

/** How to produce the problems that only one operation has. */
const PROBLEMS: Readonly<Record<Name, Readonly<Record<string, () => Promise<Response>>>>> = {
  listRuleSets: { 'validation-failed': () => ask((gateway) => gateway.get(`${PATH}?limit=0`)) },
  readRuleSet: {
    'rule-set-not-found': () => ask(ASKS.readRuleSet),
    'route-not-found': () => ask((gateway) => gateway.get(`${PATH}/a/b`)),
  },
  putRuleSet: {
    'malformed-json': () => ask((gateway) => put(gateway, '{')),
    'route-not-found': () => ask((gateway) => gateway.send('PUT', `${PATH}/a/b`, {})),
    async 'limit-reached'() {
      const gateway = await start();
      for (let i = 0; i < 10; i++) await gateway.send('PUT', `${PATH}/set-${i}`, { rules: [RULE] });
      return put(gateway);
    },
    'version-conflict': () => ask((gateway) => put(gateway, undefined, { 'if-match': '"7"' })),
    'body-too-large': () => ask((gateway) => put(gateway, 'x'.repeat(300_000))),
    'media-type-unsupported': () =>
      ask((gateway) => put(gateway, undefined, { 'content-type': 'text/plain' })),
    'validation-failed': () => ask((gateway) => put(gateway, {})),
    'rule-type-unsupported': () => ask(putRule({ ...RULE, type: 'ERC404' })),
    'function-unsupported': () =>
      ask(
        putRule({
          ...RULE,
          type: 'CONTRACT',
          contractAddress: `0x${'1'.repeat(40)}`,
          function: 'x'.repeat(513),
        }),
      ),
    'chain-unsupported': () => ask(putRule({ ...RULE, chainId: 2 })),
    'min-token-zero': () => ask(putRule({ ...RULE, minToken: '0' })),
    'too-many-reads': () =>
      ask((gateway) => {
        const one = { ...RULE, type: 'ERC1155', contractAddress: `0x${'1'.repeat(40)}` };
        const rules = Array.from({ length: 40 }, (_, i) => ({
          ...one,
          tokenId: `${i * 256}-${i * 256 + 255}`,
        }));
        return put(gateway, { rules });
      }),
  },
  deleteRuleSet: {
    'route-not-found': () => ask((gateway) => gateway.send('DELETE', `${PATH}/a/b`)),
    async 'rule-set-in-use'() {
      const gateway = await start({ ruleSets: makeFakeRuleSets({ used: ['a'] }) });
      await put(gateway);
      return ASKS.deleteRuleSet(gateway);
    },
    'version-conflict': () => ask((gateway) => ASKS.deleteRuleSet(gateway, { 'if-match': '*' })),
    'validation-failed': () => ask((gateway) => ASKS.deleteRuleSet(gateway, { 'if-match': '7' })),
  },
};

testProblems(start, ASKS, PROBLEMS);

test('the document describes successful answers, and its examples are accepted', async () => {
  const gateway = await start();
  for (const { value } of Object.values(RULE_SET_EXAMPLES)) {
    const answers = [await put(gateway, value), await put(gateway, { ...value, name: 'other' })];
    expect(answers.map(({ status }) => status)).toEqual([201, 200]);
    for (const answer of answers) await expectDocumented('putRuleSet', answer);
  }
  await expectDocumented('readRuleSet', await ASKS.readRuleSet(gateway));
  await expectDocumented('listRuleSets', await ASKS.listRuleSets(gateway));
  const deleted = await ASKS.deleteRuleSet(gateway);
  expect(deleted.status).toBe(204);
  await expectDocumented('deleteRuleSet', deleted);
});

test('the document describes an exhausted daily budget', async () => {
  const gateway = await start({ ruleSets: makeFakeRuleSets({ writesLeft: 0 }) });
  expect(await expectDocumented('putRuleSet', await put(gateway))).toMatchObject({ code: 'rate-limited' });
});

test('the example of a rule set matches its schema', () => {
  expect(validatorOf({ $ref: '#/$defs/RuleSet' }).safeParse(RULE_SET_EXAMPLE).error).toBeUndefined();
});
