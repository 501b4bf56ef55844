/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Clients send invalid requests, and request ids of other clients.
// Each gets the documented problem, nothing is published, and the process keeps running.
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
let unapproved: App;
let pids: number[];
beforeAll(async () => {
  open = await system.use(openTestSystem(system.environment()));
  pids = system.pidsOf('gateway');
  const create = (...more: string[]) => system.admin('app', 'create', '--email', 'a@example.com', ...more);
  other = (await create('--name', 'Other', '--tier', 'enterprise', '--approve')).value as App;
  unapproved = (await create('--name', 'Unapproved')).value as App;
});

const urlOf = () => system.ready.gateways[0] ?? '';
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

/** The replacement of a good check's body: a change of it or raw text. `validate-check.test.ts` has
 * every fault of a rule. */
const BAD_BODIES: readonly [string, object | string, number, string, string?][] = [
  ['that is empty', '', 400, 'malformed-json'],
  ['that is cut off', '{"account":', 400, 'malformed-json'],
  ['that is an array', '[]', 422, 'validation-failed', ''],
  ['that is null', 'null', 422, 'validation-failed', ''],
  [
    'with an unknown member',
    { callbackURL: 'https://example.com' },
    422,
    'validation-failed',
    '/callbackURL',
  ],
  ['with a name', { account: 'vitalik.eth' }, 422, 'account-format-unsupported', '/account'],
  [
    'with an inner callback',
    { callbackUrl: 'http://169.254.169.254/' },
    422,
    'callback-url-refused',
    '/callbackUrl',
  ],
  ['that is too large', ' '.repeat(257 * 1024), 413, 'body-too-large'],
  ['that is deeply nested', '['.repeat(50_000), 400, 'malformed-json'],
  ['that pollutes the prototype', '{"__proto__":{"rules":[]}}', 422, 'validation-failed', '/__proto__'],
];

test.each(BAD_BODIES)('a body %s is refused', async (_, change, status, code, ...[pointer]) => {
  const before = await publishedCount();
  const body = typeof change === 'string' ? change : { ...goodCheck(), ...change };
  const answer = await system.client.check(body);
  expectProblem(answer, { status, code });
  if (pointer !== undefined) expect(answer.body.errors?.map((fault) => fault.pointer)).toContain(pointer);
  expect(await publishedCount()).toBe(before);
});

test('every fault of a body is listed, not only the first', async () => {
  const { body } = await system.client.check({ account: '0x1', rules: [{ type: 'ERC20' }], oops: 1 });
  const pointers = body.errors?.map((fault) => fault.pointer);
  expect(pointers).toEqual(
    expect.arrayContaining(['/account', '/oops', '/rules/0/chainId', '/rules/0/roleId']),
  );
});

test('a check that would need too many reads is refused', async () => {
  const { erc1155 } = demoRules(system.chain);
  const rules = Array.from({ length: 9 }, (_, i) => erc1155({ tokenId: `${i * 256}-${i * 256 + 255}` }));
  const answer = await system.client.check({ account: system.chain.holder, rules });
  expectProblem(answer, { status: 422, code: 'too-many-reads' });
});

test.each([
  ['another media type', { 'content-type': 'text/plain' }, 415, 'media-type-unsupported'],
  ['an encoded body', { 'content-encoding': 'gzip' }, 415, 'media-type-unsupported'],
  ['a malformed idempotency key', { 'idempotency-key': 'a b\u00e9' }, 422, 'validation-failed'],
])('%s is refused', async (_, headers, status, code) => {
  expectProblem(await system.client.check(goodCheck(), headers), { status, code });
});

test.each([
  ['GET', '/access-control/check-roles', 405, 'method-not-allowed'],
  ['DELETE', '/access-control/check-roles', 405, 'method-not-allowed'],
  ['POST', '/access-control/check-roles/', 404, 'route-not-found'],
  ['POST', '/Access-Control/check-roles', 404, 'route-not-found'],
  ['GET', '/nothing', 404, 'route-not-found'],
  ['GET', '/access-control/check-roles/responses/%E0%A4%A', 404, 'request-not-found'],
])('%s %s has its documented answer', async (method, path, status, code) => {
  const { body, headers, ...answer } = await system.client.send(method, path);
  expect(answer.status).toBe(status);
  expect(body).toMatchObject({ code, status });
  if (status === 405) expect(headers.get('allow')).toMatch(/POST/);
});

test('a missing, a mistyped and an unknown key get 401 without faults of the body', async () => {
  const missing = await fetch(`${urlOf()}/access-control/check-roles`, { method: 'POST', body: '{' });
  expect(missing.status).toBe(401);
  expect(missing.headers.get('www-authenticate')).toBe('ApiKey realm="rolecall"');
  expect(await missing.json()).toMatchObject({ code: 'api-key-missing' });
  for (const key of ['nonsense', `${system.ready.app.apiKey.slice(0, -1)}!`])
    expectProblem(await system.clientOf(key).check('{'), { status: 401, code: 'api-key-invalid' });
});

test('an app without an approved scope is refused before its body is validated', async () => {
  const answer = await system.clientOf(unapproved.apiKey).check('{');
  expectProblem(answer, { status: 403, code: 'scope-not-approved' });
});

test("another client's request id gets the same 404 as an unknown one", async () => {
  const { body } = await system.client.checkAndWait(goodCheck());
  const theirs = body.requestId ?? '';
  const unknown = `${theirs.slice(0, -4)}AAAA`;
  const [foreign, invented] = await Promise.all(
    [theirs, unknown].map((id) => system.clientOf(other.apiKey).poll(id)),
  );
  if (!foreign || !invented) throw new Error('no answers');
  expectProblem(foreign, { status: 404, code: 'request-not-found' });
  const shapeOf = ({ status, headers, text }: Answer) => ({
    status,
    headers: [...headers.keys()].sort(),
    text: text.replace(/"\/requests\/[^"]*"/, '"/requests/…"'),
  });
  expect(shapeOf(foreign)).toEqual(shapeOf(invented));
  expect((await system.client.poll(theirs)).status).toBe(200);
});

test('the same processes serve a good check afterwards', async () => {
  expect((await system.client.check(goodCheck())).status).toBe(200);
  expect(system.pidsOf('gateway')).toEqual(pids);
});

test('the log of the whole run contains none of the used secrets', () => {
  const keys = { otherKey: other.apiKey.slice(9), otherSecret: other.webhookSecret.slice(6) };
  expect(findSecrets(system, keys)).toEqual([]);
});
