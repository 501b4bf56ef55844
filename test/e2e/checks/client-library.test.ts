/** @jest-environment ./test/support/jest/shared-system-environment.ts */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { openBrowser } from '../../support/browser/open-browser.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { serveOnLoopback } from '../../support/fakes/serve-on-loopback.ts';
import { type ClientProject, findRuntime, makeClientProject } from '../../support/systems/client-project.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import { startExample } from '../../support/systems/start-example.ts';
import { waitUntil } from '../../support/wait-until.ts';

// The client library is packed, installed into an empty project, compiled by a strict TypeScript
// and run by every supported runtime against a running system, as its users do. Its examples run
// unchanged.

const run = promisify(execFile);
let project: ClientProject;
const system = sharedSystem();
beforeAll(async () => {
  project = await makeClientProject();
});
afterAll(async () => {
  project?.[Symbol.dispose]();
});

const envOfSystem = () => ({
  ...process.env,
  NODE_OPTIONS: '',
  ROLECALL_URL: system.ready.gateways[0] ?? '',
  ROLECALL_API_KEY: system.ready.app.apiKey,
  ROLECALL_CLIENT_ID: system.ready.app.clientId,
  ROLECALL_JWKS_URL: `${system.ready.gateways[0]}/.well-known/jwks.json`,
  WEBHOOK_SECRET: system.ready.app.webhookSecret,
  RULE_SET: 'holders',
});

const TYPED = `
import { type CheckResult, foldRoles, Rolecall, RolecallError, requireRole, type Rule, signInMessage, verifyProof, verifyWebhook } from '@rolecall/client';

const rolecall = new Rolecall({ baseUrl: 'https://api.example', apiKey: 'rck_live_…' });
const rules: Rule[] = [
  { type: 'NATIVE', chainId: 1, roleId: 'a' },
  { type: 'ANY', roleId: 'b', rules: [{ type: 'ERC721', chainId: 1, contractAddress: '0x…' }] },
  {
    type: 'SUM', roleId: 'c', minToken: '1000', rules: [
      { type: 'ERC20', chainId: 1, contractAddress: '0x…', times: '1.5' },
      { type: 'CONTRACT', chainId: 1, contractAddress: '0x…', function: 'function f(address) view returns (uint256)', args: ['$account'], decimals: 18 },
    ],
  },
];
export const result: CheckResult = await rolecall.check({ account: '0x…', rules }, { timeoutMs: 1_000 });
export const outcome: 'granted' | 'denied' | 'undetermined' | undefined = foldRoles(result).get('a');
for await (const { ref, roles } of rolecall.batch({ entries: ['0x…', { account: '0x…', ref: 'm1' }], rules })) String([ref, roles]);
export const gate = requireRole({ client: rolecall, account: (request) => request.user.wallet, rules });
export const guard = requireRole.fetch({ client: rolecall, account: (request) => request.headers.get('x') ?? undefined, ruleSet: 'vip' });
export const granted: readonly string[] = (await verifyProof('…', { jwks: 'https://api.example/', audience: 'app_1' })).granted;
const message = await verifyWebhook({}, '', 'whsec_');
if (message.type === 'roles.changed') String(message.sequence);
else if (message.type === undefined) String(message.requestId);
await rolecall.watches.put('w', { ruleSet: 'vip', callbackUrl: 'https://x.example/' });
const { nonce } = await rolecall.nonce();
const text: string = signInMessage({ domain: 'shop.example', address: '0x…', uri: 'https://shop.example/', chainId: 1, nonce });
await rolecall.check({ account: '0x…', ruleSet: 'vip', signIn: [{ message: text, signature: '0x…' }] });
export const code = (error: RolecallError) => error.code === 'api-key-invalid';

// @ts-expect-error a native coin has no contract
export const wrong1: Rule = { type: 'NATIVE', chainId: 1, roleId: 'a', contractAddress: '0x…' };
// @ts-expect-error an ERC20 has one
export const wrong2: Rule = { type: 'ERC20', chainId: 1, roleId: 'a' };
// @ts-expect-error ids are required
export const wrong3: Rule = { type: 'ERC1155', chainId: 1, roleId: 'a', contractAddress: '0x…' };
// @ts-expect-error an amount is a string
export const wrong4: Rule = { type: 'NATIVE', chainId: 1, roleId: 'a', minToken: 1 };
// @ts-expect-error there is no such type
export const wrong5: Rule = { type: 'ERC404', chainId: 1, roleId: 'a' };
// @ts-expect-error a term of a sum has no role of its own
export const wrong6: Rule = { type: 'SUM', roleId: 'c', minToken: '1', rules: [{ type: 'ERC20', chainId: 1, contractAddress: '0x…', roleId: 'd' }] };
// @ts-expect-error the two exclude each other
await rolecall.check({ account: '0x…', accounts: ['0x…'], rules });
// @ts-expect-error the two exclude each other
await rolecall.check({ account: '0x…', rules, ruleSet: 'vip' });
// @ts-expect-error start() is for that
await rolecall.check({ account: '0x…', rules, async: true });
`;

/** The parts of an app around the samples of the README. */
const AROUND_SAMPLES = `
import { parseSignInMessage, Rolecall, requireRole, type Rule, signInMessage, verifyProof, verifyWebhook } from '@rolecall/client';
declare const process: { readonly env: { readonly ROLECALL_API_KEY: string; readonly WEBHOOK_SECRET: string } };
type Handle = (request: any, response: any, next: any) => unknown;
declare const app: Record<'get' | 'post', (path: string, ...handlers: Handle[]) => void>;
declare const handler: Handle, express: any, ethereum: any;
declare const rules: Rule[], entries: string[], address: string, proof: string;
declare const walletOf: (request: Request) => Promise<string | undefined>;
`;

/** Each sample of the README as a module. */
const samplesOfReadme = (): string[] =>
  [...readFileSync('shared/client/README.md', 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(
    ([, sample = '']) =>
      sample.includes('new Rolecall(')
        ? sample.replace(
            /^/,
            'declare const process: { readonly env: { readonly ROLECALL_API_KEY: string } };\n',
          )
        : `${AROUND_SAMPLES}declare const rolecall: Rolecall;\n${sample}`,
  );

test('its tarball has a README, the licence, and modules with their types, but no source', () => {
  const { packed } = project;
  expect(packed).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
  const modules = packed.filter((path) => path.startsWith('lib/'));
  expect(packed.length - modules.length).toBe(3);
  expect(modules.filter((path) => path.endsWith('.js')).length).toBeGreaterThan(10);
  expect(modules.filter((path) => !/(\.d\.ts|\.js)$/.test(path))).toEqual([]);
});

test.each([
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'preserve', moduleResolution: 'bundler' },
])(
  'its types and the samples of its README compile strictly without other packages, and wrong rules do not: %j',
  async (resolution) => {
    project.write('typed.ts', TYPED);
    const samples = samplesOfReadme().map((sample, place) => [`sample-${place}.ts`, sample] as const);
    for (const [name, sample] of samples) project.write(name, sample);
    expect(samples.length).toBeGreaterThan(4);
    const compilerOptions = {
      ...resolution,
      strict: true,
      exactOptionalPropertyTypes: true,
      target: 'es2023',
      noEmit: true,
      types: [],
    };
    const files = ['typed.ts', ...samples.map(([name]) => name)];
    project.write('tsconfig.json', JSON.stringify({ compilerOptions, files }));
    const compiler = join(__dirname, '../../../node_modules/typescript/bin/tsc');
    const compiled = run(process.execPath, [compiler, '-p', '.'], { cwd: project.folder });
    await expect(
      compiled.then(
        () => 'no error',
        ({ stdout }) => stdout,
      ),
    ).resolves.toBe('no error');
  },
);

/** Calls every method and prints the results. */
const PROGRAM = `
import { createServer } from 'node:http';
import { foldRoles, Rolecall, RolecallError, verifyProof, verifyWebhook } from '@rolecall/client';
import { rolesOf } from './check.mjs';
const { ROLECALL_URL, ROLECALL_API_KEY, ROLECALL_CLIENT_ID, ROLECALL_JWKS_URL, WEBHOOK_SECRET } = process.env;
const { holder, stranger, rules } = JSON.parse(process.env.GIVEN);
const rolecall = new Rolecall({ baseUrl: ROLECALL_URL, apiKey: ROLECALL_API_KEY });
const found = {};

found.rolesOf = await rolesOf(holder, rules);
const checked = await rolecall.check({ account: stranger, rules, proof: true, proofAlg: 'ES256' });
found.check = Object.fromEntries(foldRoles(checked));
const proven = { jwks: ROLECALL_JWKS_URL, audience: ROLECALL_CLIENT_ID };
const claims = await verifyProof(checked.proof, proven);
found.claims = { granted: claims.granted, denied: claims.denied, jti: claims.jti === checked.requestId };
found.otherAudience = await verifyProof(checked.proof, { ...proven, audience: 'app_other' }).catch(({ code }) => code);

const { promise: received, resolve } = Promise.withResolvers?.() ?? (() => { let r; return { promise: new Promise((f) => { r = f; }), resolve: (v) => r(v) }; })();
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  response.end();
  resolve(await verifyWebhook(request.headers, body, WEBHOOK_SECRET).catch((error) => ({ error: error.code })));
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const callbackUrl = 'http://127.0.0.1:' + server.address().port + '/hook';
const { requestId } = await rolecall.start({ account: holder, rules, callbackUrl });
const [waited, webhook] = [await rolecall.wait(requestId), await received];
found.webhook = JSON.stringify(waited) === JSON.stringify(webhook) && webhook.requestId === requestId;
server.close();

const put = await rolecall.ruleSets.put('by-node-' + process.versions.node.split('.')[0], { rules });
found.ruleSet = (await rolecall.ruleSets.get(put.ruleSetId)).digest === put.digest;
found.conflict = await rolecall.ruleSets.put(put.ruleSetId, { rules }, { ifMatch: 99 }).catch(({ code }) => code);
found.listed = false;
for await (const { ruleSetId } of rolecall.ruleSets.list()) if (ruleSetId === put.ruleSetId) found.listed = true;
found.batch = [];
for await (const line of rolecall.batch({ entries: [holder, { account: stranger, ref: 's' }], ruleSet: put.ruleSetId, proof: true })) {
  const { jti } = await verifyProof(line.proof, proven);
  found.batch.push([line.ref ?? null, Object.fromEntries(foldRoles(line)), jti.endsWith('.' + line.index)]);
}
const { watches } = rolecall;
const watch = await watches.put(put.ruleSetId, { ruleSet: put.ruleSetId, callbackUrl, follow: false });
const added = await watches.addMembers(watch.watchId, [{ account: holder, ref: 'a' }, { account: stranger, ref: 'b' }]);
const { removed, members } = await watches.removeMembers(watch.watchId, ['b']);
found.watch = [watch.state, added.added, removed, members];
found.members = [];
for await (const { ref } of watches.members(watch.watchId)) found.members.push(ref);
found.states = [];
for (const name of ['pause', 'resume', 'check', 'release']) found.states.push((await watches[name](watch.watchId)).state);
found.watchListed = false;
for await (const { watchId } of watches.list()) if (watchId === watch.watchId) found.watchListed = true;
found.inUse = await rolecall.ruleSets.delete(put.ruleSetId).catch(({ code }) => code);
await watches.delete(watch.watchId);
found.watchGone = await watches.get(watch.watchId).catch(({ code }) => code);
await rolecall.ruleSets.delete(put.ruleSetId);
found.gone = await rolecall.ruleSets.get(put.ruleSetId).catch((error) => error instanceof RolecallError && error.code);
found.chains = (await rolecall.chains()).map(({ chainId }) => chainId);
found.refused = await rolecall.check({ account: 'vitalik.eth', rules }).catch(({ code, errors }) => [code, errors[0].pointer]);
console.log(JSON.stringify(found));
`;

test.each([
  ['Node', '20'],
  ['Node', '22'],
  ['Node', '24'],
  ['Bun', '1.4'],
  ['Deno', '2.9'],
] as const)('every method works on %s %s against a running system', async (runtime, version) => {
  const found = await findRuntime(runtime, version);
  if (found === undefined) {
    process.stderr.write(`client library: ${runtime} ${version} cannot be had here, so it is not tried\n`);
    return;
  }
  project.copy('services/developer-portal/page/snippets/check.mjs');
  const program = project.write('use.mjs', PROGRAM);
  const { holder, stranger } = system.chain;
  const rules = [demoRules(system.chain).erc20({ roleId: 'gold', minToken: '1500.5' })];
  const env = { ...envOfSystem(), GIVEN: JSON.stringify({ holder, stranger, rules }) };
  const [command, ...args] = found;
  const { stdout } = await run(command, [...args, program], { cwd: project.folder, env });
  expect(JSON.parse(stdout)).toEqual({
    rolesOf: { held: ['gold'], unread: [] },
    check: { gold: 'denied' },
    claims: { granted: [], denied: ['gold'], jti: true },
    otherAudience: 'proof-audience-mismatch',
    webhook: true,
    ruleSet: true,
    conflict: 'version-conflict',
    listed: true,
    batch: [
      [null, { gold: 'granted' }, true],
      ['s', { gold: 'denied' }, true],
    ],
    watch: ['active', 2, 1, 1],
    members: ['a'],
    states: ['paused', 'active', 'active', 'active'],
    watchListed: true,
    inUse: 'rule-set-in-use',
    watchGone: 'watch-not-found',
    gone: 'rule-set-not-found',
    chains: [system.chain.chainId],
    refused: ['account-format-unsupported', '/account'],
  });
});

test('its verifyProof verifies proofs of both algorithms in a browser, by the keys of the gateway', async () => {
  const lib = join(project.folder, 'node_modules/@rolecall/client');
  await using server = await serveOnLoopback((request, response) => {
    const isScript = request.url?.endsWith('.js') === true;
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? readFileSync(join(lib, request.url ?? '')) : '<!doctype html><h1>Proofs</h1>');
  });
  await using browser = await openBrowser();
  await using visitor = await browser.open(server.url);
  await visitor.visit('/');
  const rules = [demoRules(system.chain).erc20({ roleId: 'gold', minToken: '1500.5' })];
  for (const proofAlg of ['EdDSA', 'ES256']) {
    const { body } = await system.client.check({
      account: system.chain.holder,
      rules,
      proof: true,
      proofAlg,
    });
    const { proof = '' } = body as { readonly proof?: string };
    const audience = system.ready.app.clientId;
    const given = JSON.stringify({ jwks: envOfSystem().ROLECALL_JWKS_URL, audience });
    const verify = (text: string) =>
      visitor.page.evaluate<unknown>(`(async () => {
        const { verifyProof } = await import('/lib/client/index.js');
        return verifyProof(${JSON.stringify(text)}, ${given}).then(({ granted }) => granted, ({ code }) => code);
      })()`);
    expect([proofAlg, await verify(proof)]).toEqual([proofAlg, ['gold']]);
    expect([proofAlg, await verify(`${proof.slice(0, -8)}AAAAAAAA`)]).toEqual([proofAlg, 'proof-invalid']);
  }
});

const startOwn = (name: string, env: Record<string, string> = {}) =>
  startExample(project, name, { ...envOfSystem(), ...env });

async function putRuleSet(): Promise<void> {
  const rules = [demoRules(system.chain).erc20({ roleId: 'gold', minToken: '1500.5' })];
  await system.client.mustSend('PUT', '/access-control/rule-sets/holders', { rules });
}

test('the Express example admits a holder, refuses a stranger, and answers 503 while Rolecall is away or refuses the app', async () => {
  await putRuleSet();
  const statusOf = async (url: string, headers: Record<string, string>) =>
    (await fetch(`${url}/vip`, { headers })).status;
  using example = await startOwn('gate-express.mjs');
  expect(await statusOf(example.url, { 'x-demo-wallet': system.chain.holder })).toBe(200);
  expect(await statusOf(example.url, { 'x-demo-wallet': system.chain.stranger })).toBe(403);
  expect(await statusOf(example.url, {})).toBe(401);
  const nowhere = { ROLECALL_URL: 'http://127.0.0.1:1', TIMEOUT_MS: '2000' };
  using lost = await startOwn('gate-express.mjs', nowhere);
  expect(await statusOf(lost.url, { 'x-demo-wallet': system.chain.holder })).toBe(503);
  const wrongKey = `${system.ready.app.apiKey.slice(0, -1)}${system.ready.app.apiKey.endsWith('A') ? 'B' : 'A'}`;
  using refused = await startOwn('gate-express.mjs', { ROLECALL_API_KEY: wrongKey });
  const response = await fetch(`${refused.url}/vip`, { headers: { 'x-demo-wallet': system.chain.holder } });
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
});

/** Runs the CSV example on a file of this text; `H` stands for the holder, `S` for the stranger. */
async function recheck(text: string, ...columns: string[]) {
  const { holder, stranger } = system.chain;
  const csv = project.write('members.csv', text.replaceAll('H', holder).replaceAll('S', stranger));
  const path = project.copy('test/e2e/examples/recheck-csv.mjs');
  const options = { cwd: project.folder, env: envOfSystem() };
  const ran = await run(process.execPath, [path, csv, ...columns], options).catch((failure) => failure);
  return { code: 0, ...ran, stdout: ran.stdout.replaceAll(holder, 'H').replaceAll(stranger, 'S') };
}

test.each([
  [
    'ref,account\r\nann,H\r\nbob,S\r\n',
    [],
    'ann',
    'bob',
    'Column 2 is the address,\ncolumn 1 the ref; 2 members',
  ],
  [
    '\ufeffwallet;amount;id\r\nH;100,5;"Ann ""A"""\r\n\r\nS;2;7\r\n',
    [],
    '"Ann ""A"""',
    '7',
    'column 3 the ref',
  ],
  ['H 100\nS  7\n', [], 'H', 'S', 'no column the ref'],
  ['ann\tH\nbob\tS', ['2', '1'], 'ann', 'bob', 'Column 2'],
  ['ann,H,S\nbob,S,H', ['2', '1'], 'ann', 'bob', 'Column 2'],
])(
  'the CSV example prints the outcome of every member of %j',
  async (text, columns, first, second, words) => {
    await putRuleSet();
    const { stdout, stderr } = await recheck(text, ...columns);
    expect(stdout).toBe(`ref,role,outcome\n${first},gold,granted\n${second},gold,denied\n`);
    expect(stderr).toContain(words);
  },
);

test.each([
  ['ann,H,S\nbob,S,H', '2 columns have addresses'],
  ['ann,H\nbob,0x12', 'Line 2 has no address in column 2'],
  ['ann,0x12\nbob,H', 'Line 1 has no address in column 2'],
  ['ann\nbob', 'has no address, such as 0x'],
])('the CSV example checks nothing of %j, and says why', async (text, words) => {
  expect(await recheck(text)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(words) });
});

/** A chat's API that remembers the roles of its members and refuses the first changes, as many as
 * it is told to. */
async function startChat(members: readonly object[] = []) {
  const held = new Set<string>();
  const changes: string[] = [];
  let refusals = 0;
  const server = await serveOnLoopback((request, response) => {
    if (request.url === '/members') return response.end(JSON.stringify(members));
    const [, member, role] = /^\/members\/([^/]+)\/roles\/([^/]+)$/.exec(request.url ?? '') ?? [];
    if (refusals > 0) {
      refusals--;
      return response.writeHead(500).end();
    }
    changes.push(`${request.method} ${member} ${role}`);
    if (request.method === 'PUT') held.add(`${member} ${role}`);
    else held.delete(`${member} ${role}`);
    return response.writeHead(204).end();
  });
  return {
    url: server.url,
    held,
    changes,
    refuse: (count: number) => {
      refusals = count;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test('the bot applies each event once and in order, and ignores forged, late and unread ones', async () => {
  await using chat = await startChat();
  using bot = await startOwn('sync-roles.mjs', { CHAT_URL: chat.url });
  const send = async (sequence: number, roles: readonly { id: string; granted: boolean }[], changes = {}) => {
    const body = JSON.stringify({
      type: 'roles.changed',
      watchId: 'chat',
      ref: 'ann',
      addedAt: '2026-11-22T10:00:00.000Z',
      sequence,
      roles,
      ...changes,
    });
    const at = new Date();
    const signature = new Webhook(system.ready.app.webhookSecret).sign(`msg_${sequence}`, at, body);
    const headers = {
      'content-type': 'application/json',
      'webhook-id': `msg_${sequence}`,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': signature,
    };
    const post = (text: string) => fetch(`${bot.url}/roles`, { method: 'POST', headers, body: text });
    return { body, post, status: (await post(body)).status };
  };
  const gold = (granted: boolean) => [{ id: 'gold', granted }];
  const first = await send(1, gold(true));
  expect(first.status).toBe(204);
  expect([...chat.held]).toEqual(['ann gold']);
  expect((await first.post(first.body.replace('true', 'false'))).status).toBe(401);
  expect((await first.post(first.body)).status).toBe(204);
  chat.refuse(1);
  const refused = await send(3, gold(false));
  expect(refused.status).toBe(500);
  expect((await refused.post(refused.body)).status).toBe(204);
  expect((await send(2, gold(true))).status).toBe(204);
  expect([...chat.held]).toEqual([]);
  // The member was removed and added again: the sequence starts again.
  expect((await send(1, gold(true), { addedAt: '2026-11-22T11:00:00.000Z' })).status).toBe(204);
  expect(chat.changes).toEqual(['PUT ann gold', 'DELETE ann gold', 'PUT ann gold']);
});

test('the bot sets up a watch of its members, and applies the events of the watch', async () => {
  await putRuleSet();
  const { holder, stranger } = system.chain;
  await using chat = await startChat([
    { account: holder, ref: 'ann' },
    { account: stranger, ref: 'bob' },
  ]);
  const [port = 0] = await findFreePorts(1);
  const env = { CHAT_URL: chat.url, PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` };
  using _bot = await startOwn('sync-roles.mjs', env);
  await waitUntil('the first events of both members', () => chat.changes.length === 2);
  expect(chat.changes.toSorted()).toEqual(['DELETE bob gold', 'PUT ann gold']);
  await system.client.mustSend('DELETE', '/access-control/watches/chat');
});
