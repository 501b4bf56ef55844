/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// An operator exports a system while it works, and imports the file into a new one with its own
// Kafka and Redis: what belongs to customers is there as it was, and their keys and secrets work.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import type { CheckClient } from '../../support/systems/check-client.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import { makePortalClient } from '../../support/systems/start-portal.ts';
import { startSystem } from '../../support/systems/start-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

const MEMBERS = Array.from({ length: 30 }, (_, i) => `0x${(0xdef000 + i).toString(16).padStart(40, '2')}`);
const system = sharedSystem();
const { app } = system.ready;
const directory = mkdtempSync(join(tmpdir(), 'transfer-e2e-'));
afterAll(() => rmSync(directory, { recursive: true }));

type Member = Record<'account' | 'addedAt' | 'ref' | 'roles', unknown> & { checkedAt?: string };
/** What an import keeps of members: a system that has lost their sweeps checks them again. */
const keptOf = (members: readonly Member[]) =>
  members.map(({ account, addedAt, ref, roles }) => ({ account, addedAt, ref, roles }));
const readMembers = async ({ send }: CheckClient) =>
  (await send<{ members: Member[] }>('GET', `${WATCHES_PATH}/vip/members?limit=200`)).body.members;

test('an evaluator tells at its start what each endpoint can do: in its log, and on the operator’s page', async () => {
  const { operator, portal } = system.ready;
  const client = makePortalClient(portal, operator.email);
  await client.send('POST', '/api/sign-in', { email: operator.email, password: operator.password });
  type Report = {
    chainId: number;
    name?: string;
    endpoints: { method: string | null; problems: string[] }[];
  };
  const reports = await waitUntil('the report of the demo chain', async () => {
    const { body } = await client.get<Report[]>('/api/operator/chains');
    return body.length > 0 && body;
  });
  expect(reports).toMatchObject([
    { chainId: system.chain.chainId, endpoints: [{ endpoint: 0, method: 'reader', problems: [] }] },
  ]);
  expect(system.log()).toContain('RPC endpoint has no problem');
});

test('an export that is taken under load is imported into an empty system, twice, and works there', async () => {
  await using receiver = await receiveWebhooks({ secret: app.webhookSecret });
  const rules = [demoRules(system.chain).erc20()];
  await system.client.mustSend('PUT', '/access-control/rule-sets/holders', { rules });
  const watch = { ruleSet: 'holders', callbackUrl: receiver.url, everySeconds: 604_800, follow: false };
  await system.client.mustSend('PUT', `${WATCHES_PATH}/vip`, watch);
  const add = [system.chain.holder, ...MEMBERS].map((account, i) => ({ account, ref: `member:${i}` }));
  await system.client.mustSend('POST', `${WATCHES_PATH}/vip/members`, { add });
  const members = await waitUntil('the first check of every member', async () => {
    const read = await readMembers(system.client);
    return read.length === add.length && read.every(({ checkedAt }) => checkedAt !== undefined) && read;
  });

  let isOver = false;
  const load = (async () => {
    while (!isOver) await system.client.check({ account: system.chain.holder, rules, async: true });
  })();
  const exported = await system.admin('export');
  const ofAccount = await system.admin('export', '--account', 'demo@localhost');
  isOver = true;
  await load;
  expect(exported.exitCode).toBe(0);
  const lines = exported.stdout.trimEnd().split('\n');
  const { counts, ...end } = JSON.parse(lines.at(-1) ?? '');
  expect(end).toMatchObject({ kind: 'end', format: 1 });
  expect(Object.values<number>(counts).reduce((sum, count) => sum + count, 0)).toBe(lines.length - 1);
  expect(exported.stdout).not.toContain(app.apiKey);
  expect(exported.stdout).not.toContain(app.webhookSecret);
  expect(ofAccount.stdout).toContain('demo@localhost');
  expect(ofAccount.stdout).not.toContain(app.clientId);
  const file = join(directory, 'system.ndjson');
  writeFileSync(file, exported.stdout);
  const half = join(directory, 'half.ndjson');
  writeFileSync(half, exported.stdout.slice(0, exported.stdout.length / 2));

  const { ROLECALL_SECRET_KEYS = '' } = system.environment();
  await using target = await startSystem({ env: { ROLECALL_SECRET_KEYS } });
  const client = target.clientOf(app.apiKey);
  expect((await target.admin('import', half)).value).toMatchObject({ error: { code: 'usage-invalid' } });
  expect((await client.send('GET', '/access-control/chains')).status).toBe(401);
  const imported = await target.admin('import', file, '--as', 'restorer');
  expect(imported.value).toMatchObject({
    written: { ruleSets: counts.ruleSets, watches: counts.watches, watchMembers: counts.watchMembers },
    unreadableSecrets: 0,
  });
  expect((await target.admin('import', file)).value).toMatchObject({
    written: { accounts: 0, clientApps: 0, ruleSets: 0, watches: 0, watchMembers: 0 },
  });

  expect(keptOf(await readMembers(client))).toEqual(keptOf(members));
  const [there, here] = await Promise.all(
    [client, system.client].map(({ mustSend }) => mustSend('GET', '/access-control/rule-sets/holders')),
  );
  expect(there).toEqual(here);
  const callbackUrl = `${receiver.url}/imported`;
  const { body } = await client.check({ account: target.chain.holder, rules, callbackUrl });
  const webhook = await receiver.waitFor(({ requestId }) => requestId === body.requestId);
  expect(webhook.verified).toBe(true);
  const { value } = await target.admin('audit', 'list', '--action', 'system-imported');
  expect(value).toMatchObject([{ actor: 'restorer', accountId: 'operators' }]);
});
