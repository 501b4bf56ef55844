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
const MEMBER = '{"kind":"watchMembers"';

export const f44Transfer: Fault = {
  id: 'F44',
  title: 'an export taken under load is imported into a new empty system',
  async run({ system, seconds, rest, scope }) {
    const app = await createApp(system, 'Moved');
    const receiver = scope.use(await receiveWebhooks({ secret: app.webhookSecret }));
    const rolecall = new Rolecall({ baseUrl: system.gateways[0]?.url ?? '', apiKey: app.apiKey });
    await watchMembers(rolecall, system.chain, receiver.url);
    const members = await verdictsOf(rolecall);
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
      // Without the import the rest says nothing.
      if (unreadableSecrets !== 0)
        return { figures: [], broken: [`import: ${JSON.stringify(value) ?? stderr}`] };
      const broken: string[] = [];
      const baseUrl = target.ready.gateways[0] ?? '';
      const membersThere = await verdictsOf(new Rolecall({ baseUrl, apiKey: app.apiKey }));
      const lost = [...members].filter(([ref, verdicts]) => membersThere.get(ref) !== verdicts);
      broken.push(...lost.map(([ref, was]) => `${ref} was ${was} and is ${membersThere.get(ref)}`));
      const there = new Set((await target.admin('export')).stdout.split('\n'));
      // The last line counts the others, among them those of the start. A member is checked there
      // anew, so the topic may have a later time of its check.
      const lines = exported.trimEnd().split('\n').slice(0, -1);
      const missing = lines.filter(
        (line) => !there.has(line) && !line.startsWith(MEMBER) && !OF_THE_START.test(line),
      );
      broken.push(...missing.map((line) => `not as it was: ${line.slice(0, 200)}`));

      const client = makeCheckClient({ url: baseUrl, apiKey: app.apiKey });
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

/** A rule set, and a watch whose members have all had their first verdict. */
async function watchMembers(
  rolecall: Rolecall,
  { chainId, erc20 }: ChaosSystem['chain'],
  callbackUrl: string,
): Promise<void> {
  const rule = { type: 'ERC20', chainId, roleId: 'holder', contractAddress: erc20 } as const;
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
  await waitUntil('the first verdict of every member', async () => {
    const decided = [...(await verdictsOf(rolecall)).values()].filter((text) => text.includes('granted'));
    return decided.length === MEMBERS;
  });
}

/** By ref, what clients know of a member: its roles, since when, and the number of its last event. */
async function verdictsOf({ watches }: Rolecall): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { ref = '', account, addedAt, roles, sequence } of watches.members('moved'))
    found.set(ref, JSON.stringify({ account, addedAt, roles, sequence }));
  return found;
}
