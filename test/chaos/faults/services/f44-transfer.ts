import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadLocalSystem } from '../../../../services/developer-portal/admin/local-system.ts';
import { Rolecall } from '../../../../shared/client/index.ts';
import { demoRules } from '../../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../../support/fakes/receive-webhooks.ts';
import { makeCheckClient } from '../../../support/systems/check-client.ts';
import { runAdmin } from '../../../support/systems/run-admin.ts';
import { startSystem } from '../../../support/systems/start-system.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';
import { createApp } from '../../system/create-app.ts';

const MEMBERS = 200;
/** Accounts that both systems have: each keeps its own. */
const OF_THE_START = /"email":"(?:demo|operator)@localhost"|"name":"Demo app"/;

export const f44Transfer: Fault = {
  id: 'F44',
  title: 'an export taken under load is imported into a new empty system',
  async run({ system, seconds, rest, scope }) {
    const app = await createApp(system, 'Moved');
    const receiver = scope.use(await receiveWebhooks({ secret: app.webhookSecret }));
    await watchMembers(system, app.apiKey, receiver.url);
    await rest(seconds * 500);
    const beganMs = Date.now();
    const { stdout: exported } = await runAdmin(['export', '--data', system.dataDir]);
    const exportMs = Date.now() - beganMs;
    await rest(seconds * 500);
    return async () => {
      const file = join(system.dataDir, 'export.ndjson');
      writeFileSync(file, exported);
      const { ROLECALL_SECRET_KEYS = '' } = loadLocalSystem(system.dataDir).environment;
      const target = scope.use(await startSystem({ env: { ROLECALL_SECRET_KEYS } }));
      const importedMs = Date.now();
      const { value, stderr } = await target.admin('import', file);
      const importMs = Date.now() - importedMs;
      const { unreadableSecrets } = (value ?? {}) as { unreadableSecrets?: number };
      const broken = unreadableSecrets === 0 ? [] : [`import: ${JSON.stringify(value) || stderr}`];
      const there = new Set((await target.admin('export')).stdout.split('\n'));
      // The last line counts the others, among them those of the start.
      const lines = exported.trimEnd().split('\n').slice(0, -1);
      const missing = lines.filter((line) => !there.has(line) && !OF_THE_START.test(line));
      broken.push(...missing.map((line) => `not as it was: ${line.slice(0, 200)}`));

      const client = makeCheckClient({ url: target.ready.gateways[0] ?? '', apiKey: app.apiKey });
      const rules = [demoRules(target.chain).erc20()];
      const { status, body } = await client.check({
        account: target.chain.holder,
        rules,
        callbackUrl: receiver.url,
      });
      if (status !== 202) broken.push(`the key is answered ${status}`);
      else {
        const webhook = await receiver.waitFor(({ requestId }) => requestId === body.requestId);
        if (!webhook.verified) broken.push('the signature does not verify');
      }
      return {
        figures: [
          atMost('export', exportMs / 1_000, 20, 's'),
          atMost(`import of ${lines.length} documents`, importMs / 1_000, 20, 's'),
        ],
        broken,
      };
    };
  },
};

/** A rule set, and a watch whose members have all been checked once. */
async function watchMembers(
  { chain, gateways }: ChaosSystem,
  apiKey: string,
  callbackUrl: string,
): Promise<void> {
  const rolecall = new Rolecall({ baseUrl: gateways[0]?.url ?? '', apiKey });
  const rule = {
    type: 'ERC20',
    chainId: chain.chainId,
    roleId: 'holder',
    contractAddress: chain.erc20,
  } as const;
  await rolecall.ruleSets.put('moved', { rules: [rule] });
  await rolecall.watches.put('moved', {
    ruleSet: 'moved',
    callbackUrl,
    everySeconds: 604_800,
    follow: false,
  });
  const add = Array.from({ length: MEMBERS }, (_, i) => ({
    account: `0x${(0xdef000 + i).toString(16).padStart(40, '2')}`,
    ref: `member:${i}`,
  }));
  await rolecall.watches.addMembers('moved', add);
  await waitUntil('the first check of every member', async () => {
    let checked = 0;
    for await (const { checkedAt } of rolecall.watches.members('moved'))
      checked += Number(checkedAt !== undefined);
    return checked === MEMBERS;
  });
}
