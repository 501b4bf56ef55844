/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Kafka delivers records twice, other writers publish unreadable ones, and an operator inspects
// them. A repetition changes nothing, a poison record holds nothing up, and every dead-lettered
// record can be handled.
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { checkRequestedBulk, LANES } from '#shared/contracts/checks/check-requested.ts';
import { isTokenRule } from '#shared/contracts/rules/rule.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import { WebhookRequested, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { listDeadLetters } from '#shared/kafka/dead-letters.ts';
import type { OpenSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { findRecord, waitUntilProcessed } from '../../support/infrastructure/topic-work.ts';
import { openTestSystem } from '../../support/systems/open-test-system.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

type Letter = {
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly error: { readonly code: string; readonly message: string };
  readonly failedAt: string;
};

const system = sharedSystem();
let open: OpenSystem;
let receiver: WebhookReceiver;
beforeAll(async () => {
  open = await system.use(openTestSystem(system.environment()));
  receiver = await system.use(receiveWebhooks({ secret: system.ready.app.webhookSecret }));
});

const check = () => ({ account: system.chain.holder, rules: [demoRules(system.chain).erc20()] });

/** A webhook check that has been delivered. */
async function deliveredCheck(): Promise<string> {
  const { body } = await system.client.check({ ...check(), callbackUrl: receiver.url });
  await receiver.waitFor(({ requestId }) => requestId === body.requestId);
  return body.requestId ?? '';
}
const deliveriesOf = (id: string) => receiver.deliveries.filter(({ requestId }) => requestId === id);
const lettersOf = (topic: string) => listDeadLetters(open.kafka, topic);
const everyoneWorked = async () => {
  for (const group of ['result-store', 'webhook-dispatcher'])
    await waitUntilProcessed(open, group, webhookRequested.name);
};

describe('a record that is delivered twice', () => {
  test('a second result of a check, even with another body, changes nothing and sends no second body', async () => {
    const requestId = await deliveredCheck();
    const before = await system.client.poll(requestId);
    const record = await findRecord(open, webhookRequested.name, requestId);
    const message = parseMessage(webhookRequested, record.value);
    const other = message.resultJson?.replace('"granted":true', '"granted":false');
    expect(other).not.toBe(message.resultJson);
    await open.kafka.publish(webhookRequested, message);
    await open.kafka.publish(webhookRequested, WebhookRequested.parse({ ...message, resultJson: other }));
    await everyoneWorked();
    expect((await system.client.poll(requestId)).text).toBe(before.text);
    expect(deliveriesOf(requestId).map(({ body }) => body)).toEqual([before.text]);
  });

  test('a second check.requested changes nothing and sends no second body', async () => {
    const requestId = await deliveredCheck();
    const before = await system.client.poll(requestId);
    const record = await findRecord(open, checkRequestedBulk.name, requestId);
    await open.kafka.publish(checkRequestedBulk, parseMessage(checkRequestedBulk, record.value));
    await waitUntilProcessed(open, 'evaluator.bulk', checkRequestedBulk.name);
    await everyoneWorked();
    expect((await system.client.poll(requestId)).text).toBe(before.text);
    expect(deliveriesOf(requestId).map(({ body }) => body)).toEqual([before.text]);
  });
});

describe('an unreadable record', () => {
  const places = [
    ...Object.entries(LANES).map(([lane, topic]) => [topic.name, `evaluator.${lane}`] as const),
    [checkCompleted.name, 'result-store'] as const,
    [webhookRequested.name, 'webhook-dispatcher'] as const,
  ];
  test.each(places)('is dead-lettered in %s, and the group %s continues', async (topic, group) => {
    const poison = ['not json', '{"requestId":"r"}', null, Buffer.from([0xff, 0x00])];
    for (const [i, value] of poison.entries())
      await open.kafka.publishRecord(topic, { key: `poison-${i}`, value });
    await waitUntilProcessed(open, group, topic);
    const letters = (await lettersOf(topic)).filter(({ key }) => key.startsWith('poison-'));
    expect(new Set(letters.map(({ key }) => key)).size).toBe(poison.length);
    expect(letters[0]).toMatchObject({
      error: { code: 'message-unreadable', message: expect.any(String) },
      failedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    expect((await system.client.check(check())).status).toBe(200);
  });

  test('a readable check that cannot be judged is stored as failed and dead-lettered', async () => {
    const sample = await system.client.checkAndWait(check());
    const record = await findRecord(open, checkRequestedBulk.name, sample.body.requestId ?? '');
    const message = parseMessage(checkRequestedBulk, record.value);
    const broken = message.rules
      .filter(isTokenRule)
      .map((rule) => ({ ...rule, tokenId: '9-2', type: 'ERC721' as const }));
    await open.kafka.publish(checkRequestedBulk, { ...message, requestId: 'unjudgeable', rules: broken });
    const stored = await waitUntil('its result', () => open.results.read('unjudgeable'));
    expect(JSON.parse(stored)).toMatchObject({ status: 'failed', roles: [], errors: [{ code: 'internal' }] });
    await waitUntilProcessed(open, 'evaluator.bulk', checkRequestedBulk.name);
    expect((await lettersOf(checkRequestedBulk.name)).map(({ key }) => key)).toContain('unjudgeable');
  });
});

describe('the operator', () => {
  const topic = LANES.interactive.name;

  test('inspects a dead-lettered record, sends it again and discards it', async () => {
    const listed = async () => (await system.admin('dead-letter', 'list', topic)).value as Letter[];
    const letters = await listed();
    const [letter] = letters;
    if (!letter) throw new Error('no letter');
    const place = [String(letter.partition), String(letter.offset)];
    const inspected = await system.admin('dead-letter', 'inspect', topic, ...place);
    expect(inspected).toMatchObject({ exitCode: 0, value: { key: letter.key, error: letter.error } });

    const count = letters.length;
    expect(await system.admin('dead-letter', 'redrive', topic)).toMatchObject({ value: { count } });
    await waitUntilProcessed(open, 'evaluator.interactive', topic);
    // Unreadable records are dead-lettered again.
    const again = await lettersOf(topic);
    expect(again).toHaveLength(count);
    expect(again.some(({ partition, offset }) => `${partition} ${offset}` === place.join(' '))).toBe(false);

    const [doomed] = again;
    const doomedPlace = [String(doomed?.partition), String(doomed?.offset)];
    expect((await system.admin('dead-letter', 'discard', topic, ...doomedPlace)).exitCode).toBe(0);
    expect((await listed()).map(({ key }) => key)).toEqual(again.slice(1).map(({ key }) => key));
  });

  test('redrive skips a check that has its result, and says so', async () => {
    const answer = await system.admin('dead-letter', 'redrive', checkRequestedBulk.name);
    expect(answer.value).toMatchObject({ count: expect.any(Number), skipped: 1 });
  });

  test('creates an app that works at once, and lists it', async () => {
    const args = ['--email', 'op@example.com', '--name', 'Operated', '--tier', 'paid', '--approve'];
    const created = await system.admin('app', 'create', ...args);
    expect(created.exitCode).toBe(0);
    const app = created.value as { clientId: string; apiKey: string; webhookSecret: string };
    expect(app).toEqual({
      clientId: expect.stringMatching(/^app_/),
      apiKey: expect.stringMatching(/^rck_live_[0-9A-Za-z]{36}$/),
      webhookSecret: expect.stringMatching(/^whsec_/),
    });
    const client = system.clientOf(app.apiKey);
    expect((await client.check(check())).status).toBe(200);
    const list = (await system.admin('app', 'list')).value;
    expect(list).toContainEqual(expect.objectContaining({ clientId: app.clientId, name: 'Operated' }));
    expect(JSON.stringify(list)).not.toContain(app.apiKey);
  });

  test('sees every process and the lag of every group', async () => {
    const { processes, lag } = (await system.admin('status')).value as {
      processes: { service: string; pid: number; ops: string | null }[];
      lag: Record<string, Record<string, number>>;
    };
    expect(processes).toEqual(expect.arrayContaining([...system.ready.processes]));
    for (const service of ['kafka', 'redis', 'chain'])
      expect(processes).toContainEqual({ service, pid: expect.any(Number), ops: null });
    expect(lag['evaluator.bulk']).toEqual({ [checkRequestedBulk.name]: expect.any(Number) });
  });

  test.each([
    ['of a topic that does not exist', ['dead-letter', 'list', 'no.such.topic'], 'usage-invalid'],
    ['of a record that does not exist', ['dead-letter', 'inspect', topic, '0', '999999'], 'not-found'],
    ['that does not exist', ['no-such-command'], 'usage-invalid'],
    ['without a required option', ['app', 'create', '--name', 'x'], 'usage-invalid'],
  ])('gets exit code 1 and an error in JSON for a command %s', async (_, args, code) => {
    const { exitCode, stdout, stderr } = await system.admin(...args);
    expect(exitCode).toBe(1);
    expect(stdout).toBe('');
    const last = stderr.trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).toEqual({ error: { code, message: expect.any(String) } });
  });
});
