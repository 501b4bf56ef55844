import { execFile } from 'node:child_process';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
// The framework of the library's users, with its own error handler.
import express from 'express';
import { serveOnLoopback } from '../../test/support/fakes/serve-on-loopback.ts';
import type { CheckResult } from './api-types.ts';
import { RolecallError } from './http/rolecall-error.ts';
import { requireRole } from './require-role.ts';

const RULES = [
  { type: 'NATIVE', chainId: 1, roleId: 'gold' },
  { type: 'NATIVE', chainId: 1, minToken: '2', roleId: 'silver' },
] as const;
const ACCOUNT = `0x${'ab'.repeat(20)}`;

/** `y` granted, `n` denied, `?` undetermined: gold, then silver. */
function resultOf(outcomes: string, status: 'completed' | 'failed' = 'completed'): CheckResult {
  const entries = ['gold', 'silver'].map((id, index) => [id, outcomes[index]] as const);
  return {
    requestId: 'req_1',
    status,
    roles: entries
      .filter(([, outcome]) => outcome !== '?')
      .map(([id, outcome]) => ({ id, granted: outcome === 'y' })),
    errors: entries
      .filter(([, outcome]) => outcome === '?')
      .map(([roleId], ruleIndex) => ({
        ruleIndex,
        roleId,
        code: 'rpc-timeout',
        message: '',
        retryable: true,
        chainId: 1,
      })),
    evaluatedAt: '2026-11-22T10:00:00Z',
    blocks: {},
  };
}
const clientOf = (outcome: CheckResult | Error) => ({
  check: async () => {
    if (outcome instanceof Error) throw outcome;
    return outcome;
  },
});
const judge = async (outcome: CheckResult | Error, options: object = {}) => {
  const guard = requireRole.fetch({ client: clientOf(outcome), account: ACCOUNT, rules: RULES, ...options });
  const response = await guard(new Request('https://x.example/'), () => new Response('in'));
  return { status: response.status, retryAfter: response.headers.get('retry-after') };
};

test.each([
  ['yy', {}, 200],
  ['yn', {}, 403],
  ['y?', {}, 503],
  ['n?', {}, 403],
  ['??', {}, 503],
  ['yn', { roles: ['gold'] }, 200],
  ['ny', { roles: ['gold'] }, 403],
  ['?n', { roles: ['gold'] }, 503],
  ['yn', { anyOf: ['gold', 'silver'] }, 200],
  ['y?', { anyOf: ['gold', 'silver'] }, 200],
  ['n?', { anyOf: ['gold', 'silver'] }, 503],
  ['nn', { anyOf: ['gold', 'silver'] }, 403],
  ['n?', { anyOf: ['gold'] }, 403],
])('gold and silver of %s with %j are answered %d', async (outcomes, options, status) => {
  const answer = await judge(resultOf(outcomes), options);
  expect(answer.status).toBe(status);
  expect(answer.retryAfter !== null).toBe(status === 503);
});

test('a failed check is undetermined, also where no error names the role', async () => {
  expect(await judge({ ...resultOf(''), roles: [], errors: [], status: 'failed' })).toMatchObject({
    status: 503,
  });
});

test('a role of the rules that the answer leaves out is undetermined', async () => {
  const roles = [{ id: 'gold', granted: true }];
  expect(await judge({ ...resultOf('yy'), roles })).toMatchObject({ status: 503 });
});

test.each([
  ['network-unavailable', {}, '2'],
  ['timeout', {}, '2'],
  ['rate-limited', { status: 429, retryAfterMs: 61_000 }, '61'],
  ['evaluation-unavailable', { status: 503, retryAfterMs: 1_000 }, '1'],
  ['deadline-exceeded', { status: 504 }, '2'],
])('a check that ended in %s is answered 503, never 403', async (code, options, retryAfter) => {
  expect(await judge(new RolecallError(code, 'Later.', options))).toEqual({ status: 503, retryAfter });
});

/** What the gateway answers to the app, which says nothing about the visitor. */
const REFUSALS = [
  ['api-key-invalid', 401],
  ['client-app-suspended', 403],
  ['scope-not-approved', 403],
  ['route-not-found', 404],
  ['validation-failed', 422],
] as const;

test.each(REFUSALS)('%s is thrown as an error whose status is 503, not %d', async (code, status) => {
  const cause = new RolecallError(code, 'Wrong.', { status });
  await expect(judge(cause)).rejects.toMatchObject({
    status: 503,
    headers: { 'retry-after': '2' },
    cause,
    message: expect.stringContaining(code),
  });
});

test('an error of another copy of the library counts like its own', async () => {
  const foreign = Object.assign(new Error('key'), { name: 'RolecallError', status: 401 });
  await expect(judge(foreign)).rejects.toMatchObject({ status: 503, cause: foreign });
});

test("an error of the app's own function for the account is passed on unchanged, and one of the library is not", async () => {
  const own = Object.assign(new Error('no session'), { status: 401 });
  const throwing = (error: Error) => () => {
    throw error;
  };
  await expect(judge(resultOf('yy'), { account: throwing(own) })).rejects.toBe(own);
  const jwks = new RolecallError('jwks-invalid', 'Gone.', { status: 404 });
  await expect(judge(resultOf('yy'), { account: throwing(jwks) })).rejects.toMatchObject({ status: 503 });
});

test('a request without an account is answered 401, and nothing is checked', async () => {
  const never = new Error('checked');
  for (const account of [() => undefined, async () => null, '', []])
    expect(await judge(never, { account })).toMatchObject({ status: 401 });
});

test('a role that no rule grants is a mistake, found at the start or with the first result', async () => {
  expect(() =>
    requireRole({ client: clientOf(resultOf('yy')), account: ACCOUNT, rules: RULES, roles: ['glod'] }),
  ).toThrow('glod');
  const ofSet = { rules: undefined, ruleSet: 'vip', roles: ['glod'] };
  await expect(judge(resultOf('yy'), ofSet)).rejects.toMatchObject({ cause: { code: 'config-invalid' } });
  expect(() =>
    requireRole({ client: clientOf(resultOf('yy')), account: ACCOUNT, rules: RULES, anyOf: [] }),
  ).toThrow('anyOf');
});

test.each([
  ['yy', 200, 'welcome'],
  ['nn', 403, 'role-denied'],
  ['??', 503, 'role-undetermined'],
])('as middleware of a Node server, %s is answered %d', async (outcomes, status, text) => {
  const guard = requireRole({
    client: clientOf(resultOf(outcomes)),
    account: async () => [ACCOUNT],
    rules: RULES,
  });
  const response = await visit((request, response) =>
    guard(request, response, () => void response.end('welcome')),
  );
  expect(response.status).toBe(status);
  expect(response.text).toContain(text);
});

/** What a visitor of `/` gets from a server of its own. */
async function visit(listener: RequestListener) {
  await using server = await serveOnLoopback(listener);
  const response = await fetch(`${server.url}/`);
  const { status, headers } = response;
  return { status, retryAfter: headers.get('retry-after'), text: await response.text() };
}

describe("with Express's own error handler", () => {
  const serve = (outcome: CheckResult | Error) => {
    const app = express();
    // In this mode Express logs no stack.
    app.set('env', 'test');
    const guard = requireRole({ client: clientOf(outcome), account: ACCOUNT, rules: RULES });
    app.get('/', guard, (_request, response) => void response.send('welcome'));
    return app;
  };

  test.each(REFUSALS)(
    '%s of the gateway is 503 with Retry-After for the visitor, never %d',
    async (code, status) => {
      const refusal = new RolecallError(code, 'Wrong.', { status, retryAfterMs: 7_000 });
      expect(await visit(serve(refusal))).toMatchObject({ status: 503, retryAfter: '7' });
    },
  );

  test.each([
    ['yy', 200],
    ['ny', 403],
    ['y?', 503],
  ])('gold and silver of %s are answered %d', async (outcomes, status) => {
    expect(await visit(serve(resultOf(outcomes)))).toMatchObject({ status });
  });
});

test('as middleware, it calls next once, also where the handler behind it throws', async () => {
  const program = `
    import { requireRole } from ${JSON.stringify(join(__dirname, 'require-role.ts'))};
    const check = async () => ({ requestId: 'req_1', status: 'completed', roles: [{ id: 'gold', granted: true }], errors: [] });
    const guard = requireRole({ client: { check }, account: '${ACCOUNT}', rules: ${JSON.stringify(RULES.slice(0, 1))} });
    const calls = [];
    process.once('uncaughtException', (error) => console.log(JSON.stringify([calls, error.message])));
    guard({}, {}, (error) => {
      calls.push(error?.message ?? 'no error');
      throw new Error('of the handler');
    });`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  expect(JSON.parse(stdout)).toEqual([['no error'], 'of the handler']);
});

test('as middleware, a request that was answered meanwhile is left alone', async () => {
  const checked = Promise.withResolvers<void>();
  const client = {
    check: async () => {
      await checked.promise;
      return resultOf('nn');
    },
  };
  const guard = requireRole({ client, account: ACCOUNT, rules: RULES });
  const faults: unknown[] = [];
  const { text } = await visit((request, response) => {
    guard(request, response, (fault) => faults.push(fault));
    response.end('too late');
    checked.resolve();
  });
  expect(text).toBe('too late');
  await new Promise(setImmediate);
  expect(faults).toEqual([]);
});
