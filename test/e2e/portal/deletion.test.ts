/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// An account with everything that the product keeps is deleted. Afterwards every topic, as
// compaction leaves it, and every key of Redis is searched for it.
import { randomUUID } from 'node:crypto';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { BATCH_PATH, CHECK_PATH, RULE_SETS_PATH, WATCHES_PATH } from '#shared/contracts/paths.ts';
import { ALL_TOPICS } from '#shared/contracts/topics.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import type { OpenSystem } from '../../../services/developer-portal/admin/open-system.ts';
import type { Dependencies } from '../../../services/result-store/dependencies.ts';
import { makeEraseDeleted } from '../../../services/result-store/project/erase-deleted.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { partially } from '../../support/builders/partially.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { dumpRedis } from '../../support/infrastructure/dump-redis.ts';
import { openTestSystem } from '../../support/systems/open-test-system.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import { makePortalClient, PASSWORD, type PortalClient, signUp } from '../../support/systems/start-portal.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

const NAME = `gone${randomUUID().slice(0, 8)}`;
const WALLET = `0x${Array.from({ length: 40 }, (_, i) => 'abcdef'[(i * 7 + NAME.charCodeAt(4)) % 6]).join('')}`;

const LEFT_MS_MAX = 60_000;

const system = sharedSystem();
let receiver: WebhookReceiver;
let open: OpenSystem;
beforeAll(async () => {
  receiver = await system.use(receiveWebhooks());
  open = await system.use(openTestSystem(system.environment()));
});

/** Everything that names the account, what it has, or whom it checks. */
async function makeEverything(client: PortalClient) {
  const { body: app } = await client.send<{ clientId: string; apiKey: string; webhookSecret: string }>(
    'POST',
    '/api/apps',
    { name: `${NAME} app` },
  );
  const path = `/api/apps/${app.clientId}`;
  await client.send('POST', `${path}/scope`, { purpose: `${NAME} purpose` });
  await client.send('POST', `${path}/keys`, { name: `${NAME} key` });
  await client.send('PUT', `${path}/alerts`, { callbackUrl: `${receiver.url}/${NAME}-alerts` });
  await client.send('POST', `${path}/invitations`, { role: 'viewer', email: `${NAME}-friend@example.com` });
  expect((await system.admin('scope', 'approve', app.clientId)).exitCode).toBe(0);

  const { mustSend: call } = system.clientOf(app.apiKey);
  const rules = [demoRules(system.chain).native({ roleId: `${NAME}-role` })];
  await waitUntil('the approved scope', () =>
    call('POST', CHECK_PATH, { account: WALLET, rules }).then(
      () => true,
      () => false,
    ),
  );
  await call('PUT', `${RULE_SETS_PATH}/${NAME}-rules`, { name: `${NAME} rules`, rules });
  const callbackUrl = `${receiver.url}/${NAME}-webhooks`;
  await call('PUT', `${WATCHES_PATH}/${NAME}-watch`, {
    ruleSet: `${NAME}-rules`,
    callbackUrl,
    everySeconds: 86_400,
  });
  const member = { account: WALLET, ref: `discord:${NAME}` };
  await call('POST', `${WATCHES_PATH}/${NAME}-watch/members`, { add: [member] });
  const { requestId } = await call('POST', CHECK_PATH, { account: WALLET, rules, callbackUrl });
  await call('POST', BATCH_PATH, { ruleSet: `${NAME}-rules`, entries: [member] });
  await receiver.waitFor((webhook) => webhook.requestId === requestId);
  await receiver.waitFor(({ body }) => body.includes(`discord:${NAME}`));
  return app;
}

/** The records of a topic that compaction keeps; all records of a topic without compaction. */
async function recordsOf(topic: (typeof ALL_TOPICS)[number]): Promise<string[]> {
  const kept = new Map<string, string>();
  await open.kafka.readTopic({
    topic: topic.name,
    apply: async (records, partition) => {
      for (const { key, value, offset } of records) {
        const name = topic.cleanup === 'delete' ? `${partition}/${offset}` : (key?.toString() ?? '');
        if (value === null) kept.delete(name);
        else kept.set(name, value.toString());
      }
    },
  });
  return [...kept.values()];
}

let daysLater = 0;
/** A round of the result-store two days after the last one: what is kept for a while is erased. */
const eraseLater = (): Promise<void> => {
  daysLater += 2;
  const eraseDeleted = makeEraseDeleted(
    partially<Dependencies>({
      ...openViews(open.redis),
      kafka: open.kafka,
      now: () => Date.now() + daysLater * DAY_MS,
    }),
  );
  return eraseDeleted();
};

const foundIn = (texts: readonly string[], marks: readonly string[]): string[] =>
  marks.filter((mark) => texts.some((text) => text.toLowerCase().includes(mark.toLowerCase())));

test('nothing names a deleted account, what it had, or whom it checked, but logs that expire', async () => {
  const client = await signUp(system.ready.portal);
  const app = await makeEverything(client);
  const compacted = ALL_TOPICS.filter(({ cleanup }) => cleanup !== 'delete');
  const marks = [client.email, NAME, WALLET, app.clientId];
  const inCompacted = async () => (await Promise.all(compacted.map(recordsOf))).flat();
  expect(foundIn(await inCompacted(), marks)).toEqual(marks);
  expect(foundIn([await dumpRedis({ redis: open.redis } as never)], marks)).toEqual(marks);

  expect((await client.send('POST', '/api/account/delete', { password: PASSWORD })).status).toBe(204);
  // The totals of its usage keep the id of the app, and the audit the ids of both.
  const names = [client.email, NAME, WALLET];
  await waitUntil('the topics to be rid of it', async () => {
    await eraseLater();
    return foundIn(await inCompacted(), names).length === 0;
  });
  const keysLeft = async () =>
    (await dumpRedis({ redis: open.redis } as never))
      .split('\n')
      // The versions that were given out of documents end within an hour.
      .filter((line) => !/^(audit:|leased?:)/.test(line) && foundIn([line], names).length > 0)
      .map((line) => line.slice(0, 200));
  await waitUntilPasses(async () => {
    await eraseLater();
    expect(await keysLeft()).toEqual([]);
  }, LEFT_MS_MAX);

  // What stays elsewhere until it expires names the wallets that were checked, and no person.
  const expiring = ALL_TOPICS.filter(({ cleanup }) => cleanup === 'delete');
  const rest = (await Promise.all(expiring.map(recordsOf))).flat();
  expect(foundIn(rest, [client.email, `${NAME} app`, `${NAME} key`, `${NAME} purpose`])).toEqual([]);

  // The address is free, and the new account has nothing of the old one.
  const again = makePortalClient(system.ready.portal, client.email);
  const credentials = { email: client.email, password: PASSWORD };
  await again.send('POST', '/api/sign-up', credentials);
  await again.send('POST', '/api/sign-in', credentials);
  expect((await again.get<unknown[]>('/api/apps')).body).toEqual([]);
});
