import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CheckResult } from './api-types.ts';
import { requireRole } from './require-role.ts';
import { RolecallError } from './rolecall-error.ts';

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

test.each(['api-key-invalid', 'validation-failed'])(
  '%s is the fault of the app and is thrown',
  async (code) => {
    await expect(judge(new RolecallError(code, 'Wrong.', { status: 422 }))).rejects.toMatchObject({ code });
  },
);

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
  await expect(judge(resultOf('yy'), ofSet)).rejects.toMatchObject({ code: 'config-invalid' });
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
  const server = createServer((request, response) =>
    guard(request, response, () => void response.end('welcome')),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(text);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('as middleware, a fault of the app goes to the error handler', async () => {
  const fault = new RolecallError('api-key-invalid', 'Wrong.', { status: 401 });
  const guard = requireRole({ client: clientOf(fault), account: ACCOUNT, rules: RULES });
  const response = { statusCode: 200, setHeader: () => undefined, end: () => undefined };
  expect(await new Promise((resolve) => guard({}, response, resolve))).toBe(fault);
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
  const server = createServer((request, response) => {
    guard(request, response, (fault) => faults.push(fault));
    response.end('too late');
    checked.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(await response.text()).toBe('too late');
    await new Promise(setImmediate);
    expect(faults).toEqual([]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
