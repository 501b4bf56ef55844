// One chain refuses connections, one never answers, one lives.
// An unreadable balance is an error, never a "no", and does not affect the rules of other chains.
import { createServer, type Server, type Socket } from 'node:net';
import type { ChainList } from '#shared/client/api-types.ts';
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { type DemoChain, demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { type RpcFaultProxy, startRpcFaultProxy } from '../../support/fakes/rpc-fault-proxy.ts';
import { findSecrets } from '../../support/judges/find-secrets.ts';
import {
  demoChainRpcOf,
  findPortBase,
  type StartedSystem,
  startSystem,
} from '../../support/systems/start-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

const REFUSING = 4242;
const HANGING = 4343;
const UNASKED = 4444;
const URL_SECRET = 'k3y0fTheRpcPr0vider';
const SYNC_DEADLINE_MS = 4_000;

let system: StartedSystem;
let silent: Server;
let liveNode: RpcFaultProxy;
const sockets = new Set<Socket>();
beforeAll(async () => {
  silent = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  const chain = (chainId: number, url: string) => ({
    chainId,
    name: `Chain ${chainId}`,
    nativeSymbol: 'ETH',
    blockTimeMs: 1_000,
    endpoints: [{ url }],
  });
  const portBase = await findPortBase();
  liveNode = await startRpcFaultProxy({ target: demoChainRpcOf(portBase) });
  system = await startSystem({
    portBase,
    env: { SYNC_DEADLINE_MS: String(SYNC_DEADLINE_MS), LOG_LEVEL: 'debug' },
    chains: () => ({
      chains: [
        chain(31_337, liveNode.url),
        // Port 1 is reserved, and nothing listens there.
        chain(REFUSING, `http://127.0.0.1:1/${URL_SECRET}`),
        chain(UNASKED, `http://127.0.0.1:1/${URL_SECRET}`),
        chain(HANGING, `http://127.0.0.1:${port}/${URL_SECRET}`),
      ],
    }),
  });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent?.close();
  await system?.[Symbol.asyncDispose]();
  await liveNode?.[Symbol.asyncDispose]();
});

const on = (chainId: number) => demoRules({ ...(system.chain as DemoChain), chainId });
const dead = () => ({ account: system.chain.holder, rules: [on(REFUSING).erc20({ roleId: 'dead' })] });
const mixed = (chainId: number) => ({
  account: system.chain.holder,
  rules: [
    on(chainId).erc20({ roleId: 'unreadable' }),
    on(31_337).erc20({ roleId: 'live' }),
    on(31_337).erc721({ roleId: 'live no', tokenId: '9' }),
  ],
});
const LIVE_ROLES = [
  { id: 'live', granted: true },
  { id: 'live no', granted: false },
];

test('a fully unreadable sync check gets 503 with its errors, never a verdict', async () => {
  const { status, headers, body } = await system.client.check(dead());
  expect(status).toBe(503);
  expect(headers.get('retry-after')).toMatch(/^[1-9]/);
  expect(body).toMatchObject({
    code: 'evaluation-unavailable',
    requestId: expect.any(String),
    errors: [{ ruleIndex: 0, roleId: 'dead', code: 'rpc-unavailable', retryable: true, chainId: REFUSING }],
  });
  expect(JSON.stringify(body)).not.toContain('"granted"');
});

test('a fully unreadable check by poll or webhook is failed, never denied', async () => {
  const failed = {
    status: 'failed',
    roles: [],
    errors: [{ ruleIndex: 0, roleId: 'dead', code: 'rpc-unavailable' }],
  };
  const polled = await system.client.checkAndWait(dead());
  expect(polled).toMatchObject({ status: 200, body: failed });
  await using receiver = await receiveWebhooks({ secret: system.ready.app.webhookSecret });
  const { body } = await system.client.check({ ...dead(), callbackUrl: receiver.url });
  const webhook = await receiver.waitFor(({ requestId }) => requestId === body.requestId);
  expect(JSON.parse(webhook.body)).toMatchObject(failed);
});

test('a chain that refuses connections affects only its own rules', async () => {
  const { status, body } = await system.client.check(mixed(REFUSING));
  expect(status).toBe(200);
  expect(body).toMatchObject({
    status: 'completed',
    roles: LIVE_ROLES,
    errors: [{ ruleIndex: 0, roleId: 'unreadable', code: 'rpc-unavailable' }],
  });
  expect(Object.keys(body.blocks ?? {})).toEqual(['31337']);
});

test('a chain that never answers affects only its own rules, within the deadline of the sync check', async () => {
  // A busy machine may need longer than the deadline for one check, but not for every check.
  const { body } = await waitUntil('an answer within the deadline', async () => {
    const answer = await system.client.check(mixed(HANGING));
    return answer.status === 200 && answer;
  });
  expect(body).toMatchObject({ status: 'completed', roles: LIVE_ROLES });
  expect(body.errors).toHaveLength(1);
  expect(['rpc-timeout', 'deadline-exceeded', 'rpc-unavailable']).toContain(body.errors?.[0]?.code);
});

test('an unreadable rule is denied, with its error, for a client that asked for this', async () => {
  const { status, body } = await system.client.check({ ...mixed(REFUSING), onUndetermined: 'deny' });
  expect(status).toBe(200);
  expect(body.roles).toEqual([{ id: 'unreadable', granted: false }, ...LIVE_ROLES]);
  expect(body.errors).toMatchObject([{ ruleIndex: 0, code: 'rpc-unavailable' }]);
});

test('a client that sent onUndetermined "fail" gets 503 for one unreadable rule', async () => {
  const check = { ...mixed(REFUSING), onUndetermined: 'fail' };
  const sync = await system.client.check(check);
  expect(sync).toMatchObject({ status: 503, body: { code: 'evaluation-unavailable' } });
  const polled = await system.client.checkAndWait(check);
  expect(polled.body).toMatchObject({ status: 'failed', roles: [], errors: [{ code: 'rpc-unavailable' }] });
});

test('a missing contract is an error, unlike a zero balance', async () => {
  const nowhere = `0x${'12'.repeat(20)}`;
  const rules = [on(31_337).erc20({ roleId: 'nowhere', contractAddress: nowhere }), on(31_337).native()];
  const { body } = await system.client.check({ account: system.chain.holder, rules });
  expect(body.roles).toEqual([{ id: 'native', granted: true }]);
  expect(body.errors).toMatchObject([{ ruleIndex: 0, code: 'contract-not-found', retryable: false }]);
});

test('a check that would fail again gets its failed result, which does not suggest a retry', async () => {
  const wallet = system.chain.holder;
  const rules = [on(31_337).erc20({ roleId: 'a wallet, not a token', contractAddress: wallet })];
  const { status, headers, body } = await system.client.check({ account: wallet, rules });
  expect(status).toBe(200);
  expect(headers.get('retry-after')).toBeNull();
  expect(body).toMatchObject({
    status: 'failed',
    roles: [],
    errors: [{ ruleIndex: 0, code: 'contract-not-found', retryable: false }],
  });
});

test('the list of chains tells when a chain goes away and when it is back, while it is asked', async () => {
  const list = async () => (await system.client.mustSend<ChainList>('GET', '/access-control/chains')).chains;
  const check = { account: system.chain.holder, rules: [on(31_337).native()] };
  const becomes = (state: string): Promise<{ readonly since?: string | undefined }> =>
    waitUntil(`the chain to be ${state}`, async () => {
      await system.client.check(check);
      return (await list()).find((chain) => chain.chainId === 31_337 && chain.state === state);
    });
  const instants = [await becomes('ok')];
  await liveNode.setFault('refuse');
  instants.push(await becomes('down'));
  await liveNode.setFault('none');
  instants.push(await becomes('ok'));
  const since = instants.map((chain) => Date.parse(chain.since ?? ''));
  expect(since).not.toContain(Number.NaN);
  expect(since).toEqual([...new Set(since)].sort((a, b) => a - b));
  expect((await list()).find(({ chainId }) => chainId === UNASKED)).toEqual({
    chainId: UNASKED,
    name: `Chain ${UNASKED}`,
    nativeSymbol: 'ETH',
    state: 'unknown',
  });
});

test('a member that is added while the only endpoint of its chain is away has its first event once the endpoint is back', async () => {
  await using receiver = await receiveWebhooks({ secret: system.ready.app.webhookSecret });
  const rules = [on(31_337).erc20({ roleId: 'holder' })];
  await system.client.mustSend('PUT', '/access-control/rule-sets/outage', { rules });
  const watch = { ruleSet: 'outage', callbackUrl: receiver.url };
  await system.client.mustSend('PUT', `${WATCHES_PATH}/outage`, watch);
  await liveNode.setFault('refuse');
  const add = [{ account: system.chain.holder, ref: 'm0' }];
  await system.client.mustSend('POST', `${WATCHES_PATH}/outage/members`, { add });
  const shown = await waitUntil('a first check without an answer', async () => {
    const { body } = await system.client.send('GET', `${WATCHES_PATH}/outage/members/m0`);
    return (body.errors ?? []).length > 0 && body;
  });
  expect(shown).toMatchObject({ sequence: 0, roles: [], errors: [{ retryable: true, chainId: 31_337 }] });
  await liveNode.setFault('none');
  const { body } = await receiver.waitFor((webhook) => webhook.body.includes('"watchId":"outage"'));
  expect(JSON.parse(body)).toMatchObject({
    ...{ type: 'roles.changed', ref: 'm0', sequence: 1, cause: 'first' },
    roles: [{ id: 'holder', granted: true, before: null }],
  });
});

test('neither the log nor an answer contains the address of an endpoint', async () => {
  const answer = await system.client.check(dead());
  expect(answer.text).not.toMatch(/127\.0\.0\.1/);
  expect(answer.text).not.toContain(URL_SECRET);
  expect(findSecrets(system, { urlSecret: URL_SECRET })).toEqual([]);
});
