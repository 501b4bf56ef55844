/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Clients send invalid requests. Each gets the documented problem, nothing is published, and the
// process keeps running.
import { LANES } from '#shared/contracts/checks/check-requested.ts';
import type { OpenSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { countRecords } from '../../support/infrastructure/topic-work.ts';
import { findSecrets } from '../../support/judges/find-secrets.ts';
import type { Answer } from '../../support/systems/check-client.ts';
import { openTestSystem } from '../../support/systems/open-test-system.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';

type App = { readonly clientId: string; readonly apiKey: string; readonly webhookSecret: string };

const system = sharedSystem();
let open: OpenSystem;
let other: App;
let pids: number[];
beforeAll(async () => {
  open = await system.use(openTestSystem(system.environment()));
  pids = system.pidsOf('gateway');
  other = (await system.admin('app', 'create', '--email', 'a@example.com', '--name', 'Other')).value as App;
});

const goodCheck = () => ({ account: system.chain.holder, rules: [demoRules(system.chain).erc20()] });

const publishedCount = (): Promise<number> => countRecords(open.kafka.admin, Object.values(LANES));

function expectProblem({ status, headers, body }: Answer, expected: { status: number; code: string }): void {
  expect({ status, code: body.code }).toEqual(expected);
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(headers.get('rolecall-version')).toBe('1');
  expect(body).toMatchObject({
    status,
    type: expect.any(String),
    title: expect.any(String),
    instance: expect.stringMatching(/^\/requests\/./),
  });
}

/** The replacement of a good check's body: a change of it or raw text. The tests beside the gateway
 * have every fault. */
const BAD_BODIES: readonly [string, object | string, number, string][] = [
  ['that is deeply nested', '['.repeat(50_000), 400, 'malformed-json'],
  ['with a name', { account: 'vitalik.eth' }, 422, 'account-format-unsupported'],
  ['with an inner callback', { callbackUrl: 'http://169.254.169.254/' }, 422, 'callback-url-refused'],
];

test.each(BAD_BODIES)('a body %s is refused, and nothing is published', async (_, change, status, code) => {
  const before = await publishedCount();
  const body = typeof change === 'string' ? change : { ...goodCheck(), ...change };
  const answer = await system.client.check(body);
  expectProblem(answer, { status, code });
  expect(await publishedCount()).toBe(before);
});

test('an app without an approved scope is refused before its body is validated', async () => {
  const answer = await system.clientOf(other.apiKey).check('{');
  expectProblem(answer, { status: 403, code: 'scope-not-approved' });
});

test('the same processes serve a good check afterwards', async () => {
  expect((await system.client.check(goodCheck())).status).toBe(200);
  expect(system.pidsOf('gateway')).toEqual(pids);
});

test('the log of the whole run contains none of the used secrets', () => {
  const keys = { otherKey: other.apiKey.slice(9), otherSecret: other.webhookSecret.slice(6) };
  expect(findSecrets(system, keys)).toEqual([]);
});
