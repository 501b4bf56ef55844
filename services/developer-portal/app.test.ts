import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Draw } from '#shared/fairness/throttle.ts';
import { partially } from '../../test/support/builders/partially.ts';
import { serveOnLoopback } from '../../test/support/fakes/serve-on-loopback.ts';
import { makeApp } from './app.ts';

const ACCOUNT: Account = {
  accountId: 'acc_1',
  version: 1,
  email: 'a@example.com',
  tier: 'free',
  verified: true,
  createdAt: new Date(0).toISOString(),
};
const SESSION = {
  sessionId: 's',
  startedAt: ACCOUNT.createdAt,
  usedAt: ACCOUNT.createdAt,
  browser: 'Firefox on Linux',
  address: '192.0.2.1',
  current: true,
};
const WATCHES = '/api/apps/app_1/watches';

const takeId = async ({ param }: { param: (name: string) => string }) => {
  throw new ServiceError('conflict', `the handler got ${param('ruleSetId')}`);
};

/** A portal whose list of watches takes a moment; `running` counts those lists at a time. */
function makePortal(
  take: (draws: readonly Draw[]) => Promise<void> = async () => undefined,
  origin: string | undefined = undefined,
) {
  const running = { now: 0, most: 0 };
  // Under load the requests arrive one after the other: the first ones wait for the eighth.
  const eighth = Promise.withResolvers<void>();
  const app = makeApp(
    partially<Parameters<typeof makeApp>[0]>({
      handlers: {
        async listWatches() {
          running.now += 1;
          running.most = Math.max(running.most, running.now);
          if (running.now === 8) eighth.resolve();
          await eighth.promise;
          await delay(20);
          running.now -= 1;
          return { watches: [] };
        },
        listSessions: async () => [{ ...SESSION, token: 'secret' }],
        putRuleSet: takeId,
        readRuleSet: takeId,
        deleteRuleSet: takeId,
        signIn: (call: { setSession: (account: Account) => Promise<void> }) => call.setSession(ACCOUNT),
      } as never,
      sessions: { find: async () => ACCOUNT, open: async () => 'token' },
      apps: {
        read: async () =>
          ({ clientId: 'app_1', accountId: ACCOUNT.accountId, scope: 'approved' }) as ClientApp,
      },
      throttle: { take },
      config: {
        origin,
        gateway: { publicUrl: 'http://127.0.0.1:1' },
        session: { lifeMsMax: 1_000 },
        operatorsNeedTwoFactor: false,
        http: { trustedProxies: [], logsAccess: false, inFlightMax: 512 },
      },
      metrics: {
        requestSeconds: { startTimer: () => () => 0 },
        inFlight: { set: () => undefined },
        forwardedForIgnored: { inc: () => undefined },
      } as never,
      log: { error: () => undefined, warn: () => undefined, info: () => undefined } as never,
    }),
  );
  return { app, running };
}

const ask = (url: string, path = WATCHES) =>
  fetch(url + path, { headers: { cookie: 'rolecall_session=token' } });

test('an answer has what its schema names, and nothing else of what a handler returns', async () => {
  const { app } = makePortal();
  await using server = await serveOnLoopback(app);
  expect(await (await ask(server.url, '/api/sessions')).json()).toEqual([SESSION]);
});

test('a handler judges a malformed id of what is made; any other malformed id is not found', async () => {
  const { app } = makePortal();
  await using server = await serveOnLoopback(app);
  const path = `${server.url}/api/apps/app_1/rule-sets/a%20b`;
  const headers = {
    cookie: 'rolecall_session=token',
    origin: server.url,
    'content-type': 'application/json',
  };
  const put = await fetch(path, { method: 'PUT', headers, body: JSON.stringify({ ruleSet: {} }) });
  expect([put.status, await put.json()]).toMatchObject([409, { detail: 'The handler got a b.' }]);
  expect((await fetch(path, { headers })).status).toBe(404);
  expect((await fetch(path, { method: 'DELETE', headers })).status).toBe(404);
});

test('reads of one account beyond its budget are answered 429 with Retry-After', async () => {
  const drawn: string[] = [];
  const { app } = makePortal(async ([draw]) => {
    drawn.push(`${draw?.budget.name} ${draw?.owner}`);
    throw new ServiceError('rate-limited', 'too many attempts', { retryAfterMs: 30_000 });
  });
  await using server = await serveOnLoopback(app);
  const { status, headers } = await ask(server.url);
  expect([status, headers.get('retry-after'), drawn]).toEqual([429, '30', ['reads-minute acc_1']]);
});

test('at most eight heavy reads run at a time, and the others wait', async () => {
  const { app, running } = makePortal();
  await using server = await serveOnLoopback(app);
  const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await ask(server.url)).status));
  expect([new Set(statuses), running.most]).toEqual([new Set([200]), 8]);
});

test('under /assets only what the page loads is served, however the path of another file is written', async () => {
  const { app } = makePortal();
  await using server = await serveOnLoopback(app);
  const answers = async (paths: readonly string[]) =>
    Promise.all(paths.map(async (path) => [path, (await fetch(server.url + path)).status]));
  const page = await (await fetch(`${server.url}/apps`)).text();
  const loaded = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  // Every module, so that a browser loads all of them at once.
  expect(loaded).toEqual(
    expect.arrayContaining(['/assets/features/try/try.ts', '/assets/snippets/fold-roles.mjs']),
  );
  expect(loaded.length).toBeGreaterThan(50);
  expect(await answers(loaded)).toEqual(loaded.map((path) => [path, 200]));
  const others = [
    '/assets/page.test.ts',
    '/assets/%zz',
    '/assets/page.test%2Ets',
    '/assets/page%2etest.ts',
    '/assets/page.test.%74s',
    '/assets/lib%2Fhtml.ts',
    '/assets/lib/..%2f..%2fserve-page.ts',
    '/assets/%2e%2e%2fserve-page.ts',
    '/assets/index.html',
    '/assets/snippets/verify.py',
    '/assets/lib',
    '/assets/lib/view.d.ts',
    '/assets/lib/',
    '/assets/vendor/',
    '/assets/vendor/package.json',
    '/assets/',
  ];
  expect(await answers(others)).toEqual(others.map((path) => [path, 404]));
});

test('the types of the served files are those that a browser needs', async () => {
  const { app } = makePortal();
  await using server = await serveOnLoopback(app);
  const typeOf = async (path: string) => (await fetch(server.url + path)).headers.get('content-type');
  expect(await typeOf('/assets/main.ts')).toMatch(/^text\/javascript/);
  expect(await typeOf('/assets/styles/base.css')).toMatch(/^text\/css/);
  expect(await typeOf('/assets/mark.svg')).toBe('image/svg+xml');
  expect(await typeOf('/assets/vendor/inter.woff2')).toBe('font/woff2');
  expect(await typeOf('/apps')).toMatch(/^text\/html/);
});

test('a module is served without its types, at the same lines, and not again while it is unchanged', async () => {
  const { app } = makePortal();
  await using server = await serveOnLoopback(app);
  const path = '/assets/lib/parse-json.ts';
  const answer = await fetch(server.url + path);
  const [served, written] = [
    await answer.text(),
    readFileSync(join(__dirname, `page${path.slice(7)}`), 'utf8'),
  ];
  expect(served).not.toContain('written: string');
  expect(served.split('\n').map((line) => line.length)).toEqual(
    written.split('\n').map((line) => line.length),
  );
  // As a browser revalidates; fetch would ask for the whole file.
  const headers = { 'if-none-match': `${answer.headers.get('etag')}`, 'cache-control': 'max-age=0' };
  const again = await fetch(server.url + path, { headers });
  expect(again.status).toBe(304);
});

test.each([
  ['https://portal.example.com', '__Host-rolecall_session', true],
  ['http://portal.example.com', 'rolecall_session', false],
])('the cookie of a session at %s is %s', async (origin, name, isSecure) => {
  const { app } = makePortal(undefined, origin);
  await using server = await serveOnLoopback(app);
  const { headers } = await fetch(`${server.url}/api/sign-in`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'a@example.com', password: 'correct horse battery' }),
  });
  const cookie = headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(new RegExp(`^${name}=token; Max-Age=1; Path=/; `));
  expect(cookie.includes('Secure')).toBe(isSecure);
  // A cookie with a domain, or without `Secure`, is refused by browsers where its name has the
  // prefix.
  expect(cookie).not.toMatch(/domain/i);
});
