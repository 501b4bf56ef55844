import {
  type Answers,
  resultOf,
  type Step,
  startAnswers,
} from '../../test/support/client/answer-by-steps.ts';
import { RolecallError } from './http/rolecall-error.ts';
import { Rolecall } from './rolecall.ts';

const ACCOUNT = '0x52908400098527886E0F7030069857D2E4169EE7';
const CHECK = { account: ACCOUNT, rules: [{ type: 'NATIVE', chainId: 1, roleId: 'holder' }] } as const;
const API_KEY = 'rck_live_secret';

let answers: Answers;
afterEach(() => answers?.[Symbol.asyncDispose]());

async function start(...steps: readonly Step[]): Promise<Rolecall> {
  answers = await startAnswers(...steps);
  return new Rolecall({ baseUrl: answers.url, apiKey: API_KEY });
}
const errorOf = (work: Promise<unknown>): Promise<RolecallError> =>
  work.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: RolecallError) => error,
  );
const problem = (status: number, code: string, retryAfter?: string): Step => ({
  do: 'problem',
  status,
  code,
  ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
});
const html = (status: number): Step => ({
  do: 'answer',
  status,
  headers: { 'content-type': 'text/html' },
  body: '<html>Bad Gateway</html>',
});

describe('a nonce', () => {
  const answer = (body: object): Step => ({ do: 'answer', status: 201, body: JSON.stringify(body) });

  test('is asked for by its own request, again if the answer is lost', async () => {
    const issued = { nonce: 'a1b2c3d4e5f6a7b8', expiresAt: '2026-11-22T10:10:00.000Z' };
    const rolecall = await start({ do: 'reset' }, answer(issued));
    expect(await rolecall.nonce()).toEqual(issued);
    expect(answers.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(
      Array(2).fill('POST /access-control/nonces'),
    );
  });

  test('of an answer that has none is an error', async () => {
    const rolecall = await start(answer({ requestId: 'r' }));
    expect((await errorOf(rolecall.nonce())).code).toBe('unexpected-answer');
  });
});

describe('a check is made once, and answered in the end', () => {
  test.each<[string, Step[]]>([
    ['429 with Retry-After', [problem(429, 'rate-limited', '0')]],
    ['429 with a date in Retry-After', [problem(429, 'rate-limited', new Date(0).toUTCString())]],
    ['503 with Retry-After', [problem(503, 'overloaded', '0')]],
    ['503 without Retry-After', [problem(503, 'dependency-unavailable')]],
    ['500', [problem(500, 'internal')]],
    ['409 of the same key still running', [problem(409, 'idempotency-key-in-use', '0')]],
    ['a reset connection', [{ do: 'reset' }]],
    ['an answer that never comes', [{ do: 'hang' }]],
    ["a proxy's page", [html(502)]],
    ['all of them in a row', [problem(429, 'rate-limited', '0'), { do: 'reset' }, html(503), { do: 'hang' }]],
  ])('after %s', async (_name, faults) => {
    const rolecall = await start(...faults, { do: 'result' });
    const { requestId } = await rolecall.check(CHECK, { timeoutMs: 10_000 });
    const keys = new Set(answers.requests.map(({ headers }) => headers['idempotency-key']));
    expect(answers.requests).toHaveLength(faults.length + 1);
    expect(keys.size).toBe(1);
    expect([...answers.checks.values()]).toEqual([requestId]);
  });

  test('each check has its own idempotency key', async () => {
    const rolecall = await start({ do: 'result' });
    const [first, second] = await Promise.all([rolecall.check(CHECK), rolecall.check(CHECK)]);
    expect(first.requestId).not.toBe(second.requestId);
  });

  test('a check that outlasts its deadline is polled, not made again', async () => {
    const late: Step = {
      do: 'answer',
      status: 504,
      headers: { 'content-type': 'application/problem+json' },
      body: JSON.stringify({
        code: 'deadline-exceeded',
        status: 504,
        detail: 'Late.',
        requestId: 'req_late',
      }),
    };
    const found: Step = {
      do: 'answer',
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(resultOf('req_late')),
    };
    const rolecall = await start(late, found);
    expect(await rolecall.check(CHECK)).toMatchObject({ requestId: 'req_late', status: 'completed' });
    expect(answers.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /access-control/check-roles',
      'GET /access-control/check-roles/responses/req_late',
    ]);
  });
});

test.each([
  [0, 1_000],
  [1, 1_500],
])(
  'with the random number %d, a check refused for a second is sent again after %d ms',
  async (random, ms) => {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    const timer = jest.spyOn(globalThis, 'setTimeout');
    const rolecall = await start(problem(429, 'rate-limited', '1'), { do: 'result' });
    await rolecall.check(CHECK);
    expect(timer.mock.calls.map(([, delayMs]) => delayMs)).toContain(ms);
    jest.restoreAllMocks();
  },
);

describe('an error', () => {
  test('is thrown at once where Retry-After is beyond the time limit', async () => {
    const rolecall = await start(problem(429, 'monthly-quota-exceeded', '864000'));
    const error = await errorOf(rolecall.check(CHECK));
    expect(error).toBeInstanceOf(RolecallError);
    expect(error).toMatchObject({ code: 'monthly-quota-exceeded', status: 429, retryAfterMs: 864_000_000 });
    expect(answers.requests).toHaveLength(1);
  });

  test('is not retried if the request is at fault, and lists the faults', async () => {
    const errors = [{ pointer: '/account', code: 'malformed', detail: '/account must be an address.' }];
    const rolecall = await start({
      do: 'answer',
      status: 422,
      headers: { 'content-type': 'application/problem+json' },
      body: JSON.stringify({ code: 'validation-failed', status: 422, detail: 'Wrong.', errors }),
    });
    expect(await errorOf(rolecall.check(CHECK))).toMatchObject({
      code: 'validation-failed',
      status: 422,
      errors,
    });
    expect(answers.requests).toHaveLength(1);
  });

  test('of a check of which nothing could be read is thrown after three checks: each may be charged', async () => {
    const rolecall = await start(problem(503, 'evaluation-unavailable', '0'));
    expect(await errorOf(rolecall.check(CHECK))).toMatchObject({ code: 'evaluation-unavailable' });
    expect(answers.requests).toHaveLength(3);
  });

  test('of a request that is not JSON names the mistake, and nothing is sent', async () => {
    const rolecall = await start({ do: 'result' });
    const consistency = { minBlock: { 1: 21_000_000n as unknown as number } };
    expect(await errorOf(rolecall.check({ ...CHECK, consistency }))).toMatchObject({
      code: 'config-invalid',
    });
    expect(answers.requests).toHaveLength(0);
  });

  test('keeps a code that this version does not know', async () => {
    const rolecall = await start(problem(451, 'forbidden-by-law'));
    expect(await errorOf(rolecall.check(CHECK))).toMatchObject({ code: 'forbidden-by-law', status: 451 });
  });

  test.each<[string, Step]>([
    [
      'a page of another server',
      { do: 'answer', status: 404, headers: { 'content-type': 'text/html' }, body: '<html>' },
    ],
    [
      'a page with status 200',
      { do: 'answer', status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' },
    ],
    ['a redirect', { do: 'answer', status: 302, headers: { location: 'https://elsewhere.example/' } }],
    [
      'JSON that is not a result',
      { do: 'answer', status: 200, headers: { 'content-type': 'application/json' }, body: '{}' },
    ],
    [
      'a result whose roles are none',
      {
        do: 'answer',
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(resultOf('x', { roles: [{ id: 'holder' }] })),
      },
    ],
  ])('of %s is not a verdict, and names the settings to check', async (_name, step) => {
    const rolecall = await start(step);
    const error = await errorOf(rolecall.check(CHECK));
    expect(error.code).toBe('unexpected-answer');
    expect(error.detail).toContain('baseUrl');
  });

  test('names the address of an absent gateway, and never the key', async () => {
    const rolecall = await start({ do: 'result' });
    await answers[Symbol.asyncDispose]();
    const error = await errorOf(rolecall.check(CHECK, { timeoutMs: 2_000 }));
    expect(error).toMatchObject({ code: 'network-unavailable', status: undefined, isRetryable: true });
    expect(error.detail).toContain(answers.url);
    expect(JSON.stringify([error, error.message, error.stack, rolecall])).not.toContain(API_KEY);
    answers = await startAnswers();
  });

  test('is thrown after the timeout if the gateway hangs', async () => {
    const rolecall = await start({ do: 'hang' });
    expect(await errorOf(rolecall.check(CHECK, { timeoutMs: 6_000 }))).toMatchObject({ code: 'timeout' });
    expect(answers.checks.size).toBe(1);
  });

  test('has the reason of the signal after an abort', async () => {
    const rolecall = await start({ do: 'hang' });
    const reason = new Error('the user left');
    const controller = new AbortController();
    const checking = errorOf(rolecall.check(CHECK, { signal: controller.signal }));
    controller.abort(reason);
    expect(await checking).toBe(reason);
    expect(await errorOf(rolecall.check(CHECK, { signal: controller.signal }))).toBe(reason);
  });

  test.each([
    [{ baseUrl: 'api.example', apiKey: 'x' }, 'baseUrl'],
    [{ baseUrl: 'https://api.example/?x', apiKey: 'x' }, 'baseUrl'],
    [{ baseUrl: 'https://me:secret@api.example', apiKey: 'x' }, 'baseUrl'],
    [{ baseUrl: 'https://api.example', apiKey: '' }, 'apiKey'],
    [{ baseUrl: 'https://api.example', apiKey: 'x', timeoutMs: 0 }, 'timeoutMs'],
  ])('of the options %j names the wrong one', (options, name) => {
    expect(() => new Rolecall(options)).toThrow(expect.objectContaining({ code: 'config-invalid' }));
    expect(() => new Rolecall(options)).toThrow(name);
  });
});

test('a base URL with a path is kept, and a slash at its end ignored', async () => {
  answers = await startAnswers({ do: 'result' });
  await new Rolecall({ baseUrl: `${answers.url}/roles/`, apiKey: API_KEY }).check(CHECK);
  expect(answers.requests[0]).toMatchObject({ url: '/roles/access-control/check-roles' });
  expect(answers.requests[0]?.headers).toMatchObject({
    'x-api-key': API_KEY,
    'content-type': 'application/json',
  });
});

describe('an asynchronous check', () => {
  test('is accepted, and waited for while it is pending', async () => {
    const pending: Step = {
      do: 'answer',
      status: 202,
      headers: { 'content-type': 'application/json', 'retry-after': '1' },
      body: JSON.stringify({ requestId: 'x', status: 'pending', roles: [], errors: [] }),
    };
    const rolecall = await start(
      { do: 'reset' },
      { do: 'accept' },
      pending,
      { do: 'reset' },
      { do: 'result' },
    );
    const { requestId } = await rolecall.start({ ...CHECK, callbackUrl: 'https://hooks.example/' });
    expect([...answers.checks.values()]).toEqual([requestId]);
    expect(JSON.parse(answers.requests[0]?.body ?? '')).toEqual({
      ...CHECK,
      callbackUrl: 'https://hooks.example/',
      async: true,
    });
    expect(await rolecall.wait(requestId)).toMatchObject({ status: 'completed' });
    expect(answers.requests[2]).toMatchObject({ method: 'GET', headers: { prefer: 'wait=20' } });
  });

  test('throws an error with its id if it is still pending at the time limit', async () => {
    const rolecall = await start({
      do: 'answer',
      status: 202,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ requestId: 'req_1', status: 'pending', roles: [], errors: [] }),
    });
    expect(await errorOf(rolecall.wait('req_1', { timeoutMs: 50 }))).toMatchObject({
      code: 'timeout',
      requestId: 'req_1',
    });
  });
});
