/** @jest-environment ./test/support/jest/shared-system-environment.ts */
import { CHECK_PATH } from '#shared/contracts/paths.ts';
import { retry } from '#shared/wait-for.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { openBrowser, type Visitor } from '../../support/browser/open-browser.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { serveOnLoopback } from '../../support/fakes/serve-on-loopback.ts';
import {
  type ForwardProxy,
  startForwardProxy,
  testWithProxy,
} from '../../support/infrastructure/forward-proxy.ts';
import { type ClientProject, makeClientProject } from '../../support/systems/client-project.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import { startExample } from '../../support/systems/start-example.ts';

// Scenario: visitors enter an app with their wallet, by the documentation's examples, unchanged: an
// Express app with its page in a real browser, and a server that a real nginx and a real Caddy ask.
// The wallets are accounts of the demo chain, whose node signs for them.

const system = sharedSystem();
let project: ClientProject;
beforeAll(async () => {
  project = await makeClientProject();
  const { erc20 } = demoRules(system.chain);
  const nowhere = erc20({ roleId: 'broken', contractAddress: `0x${'11'.repeat(20)}` });
  const rules = [erc20({ roleId: 'gold', minToken: '1500.5' }), nowhere];
  await system.client.mustSend('PUT', '/access-control/rule-sets/club', { rules });
});
afterAll(() => project?.[Symbol.dispose]());

const gateway = () => system.ready.gateways[0] ?? '';
const toHex = (text: string): string => `0x${Buffer.from(text).toString('hex')}`;

const sign = (message: string, account: string) =>
  callJsonRpc<string>(system.chain.rpc, 'personal_sign', [toHex(message), account]);

/** Starts on a port that is free, and on another one if a program takes it before. */
const onFreePort = <T>(start: (port: number) => Promise<T>): Promise<T> =>
  retry(
    async () => {
      const [port = 0] = await findFreePorts(1);
      return start(port);
    },
    {
      delayMs: 100,
      triesMax: 5,
      mayRetry: (error) => /EADDRINUSE|address already in use/i.test(String(error)),
    },
  );

/** Starts an example behind an address whose host is a domain of the client app. */
async function startBehind(name: string, port: number, env: Record<string, string> = {}) {
  const domain = `127.0.0.1:${port}`;
  const { clientId, apiKey } = system.ready.app;
  const set = await system.admin('app', 'domains', clientId, '--set', domain);
  expect(set.value).toEqual({ domains: [domain] });
  project.copy('test/e2e/examples/sign-in.html');
  return startExample(project, name, {
    ROLECALL_URL: gateway(),
    ROLECALL_API_KEY: apiKey,
    ROLECALL_CLIENT_ID: clientId,
    RULE_SET: 'club',
    CHAIN_ID: String(system.chain.chainId),
    ORIGIN: `http://${domain}`,
    ...env,
  });
}

// The wallet of another chain may be the contract of somebody else, which accepts any signature.
test.each(['sign-in-express.mjs', 'forward-auth.mjs'])(
  '%s refuses a message of another chain whose statement names the right one',
  async (name) => {
    const { holder, chainId } = system.chain;
    const own = chainId + 1;
    const env = { CHAIN_ID: String(own) };
    using example = await onFreePort((port) => startBehind(name, port, { PORT: String(port), ...env }));
    const send = (path: string, body: object) =>
      fetch(`${example.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const asked = await send('/sign-in/message', { account: holder });
    const { message: given } = (await asked.json()) as { message: string };
    const message = given
      .replace(`Chain ID: ${own}\n`, `Chain ID: ${chainId}\n`)
      .replace(/\n\n(?:.+\n)?\nURI: /, `\n\nChain ID: ${own}\n\nURI: `);
    expect(message).toContain(`\n${holder}\n\nChain ID: ${own}\n\nURI: `);
    const signature = await sign(message, holder);
    const response = await send('/sign-in', { account: holder, message, signature });
    expect([response.status, response.headers.get('set-cookie')]).toEqual([401, null]);
    expect((await send('/sign-in', { account: holder, message: [message], signature })).status).toBe(401);
  },
);

describe('the Express app', () => {
  const start = (env: Record<string, string> = {}) =>
    onFreePort((port) => startBehind('sign-in-express.mjs', port, { PORT: String(port), ...env }));

  /** A browser with a wallet by EIP-1193, whose answers the test gives. */
  async function openWithWallet(
    visitor: Visitor,
    account: string,
    signFor: (message: string) => Promise<string>,
  ): Promise<void> {
    await visitor.page.exposeFunction('askWallet', async (method: string, params: readonly string[]) => {
      if (method === 'eth_requestAccounts') return [account.toLowerCase()];
      if (method !== 'personal_sign') throw new Error(`unexpected ${method}`);
      expect(params[1]).toBe(account.toLowerCase());
      return signFor(Buffer.from(params[0]?.slice(2) ?? '', 'hex').toString());
    });
    await visitor.page.addInitScript(
      'window.ethereum = { request: ({ method, params }) => window.askWallet(method, params) };',
    );
    await visitor.visit('/');
  }

  const statusAfterClick = async ({ page }: Visitor, expected: string): Promise<void> => {
    await page.getByRole('button').click();
    await page.getByText(expected).waitFor();
  };

  test('lets a holder in who signs with the wallet of a browser, and keeps them in', async () => {
    using example = await start();
    await using browser = await openBrowser();
    await using visitor = await browser.open(example.url);
    const { holder } = system.chain;
    const seen: string[] = [];
    await openWithWallet(visitor, holder, (message) => {
      seen.push(message);
      return sign(message, holder);
    });
    expect(new URL(visitor.page.url()).pathname).toBe('/sign-in');
    await statusAfterClick(visitor, 'Welcome, ');
    expect(seen).toEqual([
      expect.stringContaining(
        `${new URL(example.url).host} wants you to sign in with your Ethereum account:\n${holder}\n\nEnter the club.`,
      ),
    ]);
    await visitor.page.goto('/');
    expect(await visitor.page.textContent('body')).toBe(`Welcome, ${holder.toLowerCase()}`);
  });

  test('tells a stranger, a wrong signature and an unread role apart', async () => {
    const { holder, stranger } = system.chain;
    const messages = {
      stranger: 'This wallet does not hold the role.',
      wrong: 'The signature was refused.',
      unread: 'Your wallet could not be checked just now: try again.',
    };
    await using browser = await openBrowser();
    const expectIn = async (
      url: string,
      account: string,
      signFor: (message: string) => Promise<string>,
      expected: string,
    ): Promise<void> => {
      await using visitor = await browser.open(url);
      await openWithWallet(visitor, account, signFor);
      await statusAfterClick(visitor, expected);
      await visitor.visit('/');
      expect(new URL(visitor.page.url()).pathname).toBe('/sign-in');
    };
    using example = await start();
    await expectIn(example.url, stranger, (text) => sign(text, stranger), messages.stranger);
    await expectIn(example.url, holder, (text) => sign(text, stranger), messages.wrong);
    await expectIn(example.url, holder, (text) => sign(`${text} `, holder), messages.wrong);
    expect(example.printed()).toContain('sign-in-refused: ');
    using broken = await start({ ROLE: 'broken' });
    await expectIn(broken.url, holder, (text) => sign(text, holder), messages.unread);
  });
});

describe.each<ForwardProxy>(['nginx', 'caddy'])('the server that %s asks', (proxy) => {
  const test = testWithProxy(proxy);
  /** The proxy before an app and before the example; plain HTTP as a browser sends it. */
  const start = (env: Record<string, string> = {}) => onFreePort((port) => startAt(port, env));

  async function startAt(port: number, env: Record<string, string>) {
    await using parts = new AsyncDisposableStack();
    const app = parts.use(await serveOnLoopback((_request, response) => response.end('the club')));
    const example = parts.use(await startBehind('forward-auth.mjs', port, env));
    const url = `http://127.0.0.1:${port}`;
    parts.use(
      await startForwardProxy(proxy, url, {
        '127.0.0.1:8088': new URL(url).host,
        '127.0.0.1:3000': new URL(app.url).host,
        '127.0.0.1:3001': new URL(example.url).host,
      }),
    );
    const running = parts.move();
    const send = (path: string, body: object) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    return {
      example,
      /** The message and its signature by a wallet. */
      async signed(account: string, signer = account) {
        const { message } = (await (await send('/sign-in/message', { account })).json()) as {
          message: string;
        };
        return { account, message, signature: await sign(message, signer) };
      },
      signIn: (body: object) => send('/sign-in', body),
      enter: (cookie = '') => fetch(`${url}/`, { headers: { cookie }, redirect: 'manual' }),
      [Symbol.asyncDispose]: () => running.disposeAsync(),
    };
  }

  const cookieOf = (response: Response): string => response.headers.get('set-cookie')?.split(';')[0] ?? '';
  /** A signed verdict of a check with these members, as a cookie. */
  async function proofBy(members: object): Promise<string> {
    const proof = { proof: true, proofAlg: 'ES256' };
    const check = { ruleSet: 'club', ...proof, ...members };
    const { body } = await system.client.send<{ proof?: string }>('POST', CHECK_PATH, check);
    return `proof=${body.proof}`;
  }

  test('lets a holder through who has signed in, and sends others to sign in', async () => {
    await using site = await start();
    const before = await site.enter();
    expect([before.status, before.headers.get('location')]).toEqual([
      302,
      expect.stringMatching(/\/sign-in$/),
    ]);
    const response = await site.signIn(await site.signed(system.chain.holder));
    expect(response.status).toBe(204);
    expect(response.headers.get('set-cookie')).toMatch(/; Max-Age=3600; .*HttpOnly; SameSite=Lax$/);
    const inside = await site.enter(cookieOf(response));
    expect([inside.status, await inside.text()]).toEqual([200, 'the club']);
  });

  test('refuses a stranger by 403, at the sign-in and with a verdict of theirs', async () => {
    await using site = await start();
    const { stranger } = system.chain;
    const { account, message, signature } = await site.signed(stranger);
    expect((await site.signIn(await site.signed(stranger))).status).toBe(403);
    const cookie = await proofBy({ account, signIn: [{ message, signature }] });
    expect((await site.enter(cookie)).status).toBe(403);
  });

  test('answers 503 with Retry-After, never 403, while the role cannot be read', async () => {
    await using site = await start({ ROLE: 'broken' });
    const { account, message, signature } = await site.signed(system.chain.holder);
    const unread = await site.signIn(await site.signed(system.chain.holder));
    expect([unread.status, unread.headers.get('retry-after')]).toEqual([503, '2']);
    const cookie = await proofBy({ account, signIn: [{ message, signature }] });
    const inside = await site.enter(cookie);
    expect([inside.status, inside.headers.get('retry-after')]).toEqual([503, '2']);
  });

  test('answers 503 while the server itself is away', async () => {
    await using site = await start();
    const cookie = cookieOf(await site.signIn(await site.signed(system.chain.holder)));
    site.example[Symbol.dispose]();
    await site.example.ended;
    expect((await site.enter(cookie)).status).toBe(503);
  });

  test('takes no signature of another wallet, and no verdict that nobody signed in for, of other rules or forged', async () => {
    await using site = await start();
    const { holder, stranger } = system.chain;
    expect((await site.signIn(await site.signed(holder, stranger))).status).toBe(401);
    const good = cookieOf(await site.signIn(await site.signed(holder)));
    expect((await site.enter(good)).status).toBe(200);
    const [header = '', payload = '', signature = ''] = good.split('.');
    const changed = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), accounts: [stranger] };
    const { account, ...signed } = await site.signed(holder);
    const { account: _, ...ofStranger } = await site.signed(stranger);
    const other = demoRules(system.chain).native({ roleId: 'gold' });
    for (const cookie of [
      await proofBy({ account: holder }),
      await proofBy({ accounts: [stranger, holder], signIn: [ofStranger] }),
      await proofBy({ account, ruleSet: undefined, rules: [other], signIn: [signed] }),
      `${header}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${signature}`,
      `${header}.${payload}.`,
      'proof=a.b.c',
      'proof=',
    ])
      expect([cookie, (await site.enter(cookie)).status]).toEqual([cookie, 302]);
  });
});
