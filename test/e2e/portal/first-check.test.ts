/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// A developer in a real browser, from the sign-up to a revoked key, and by the quickstart to the
// first check.
import { Webhook } from 'standardwebhooks';
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import {
  approveApp,
  approveScope,
  createApp,
  type MadeApp,
  requestScope,
  signUp,
} from '../../support/browser/portal-steps.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { type ReceivedWebhook, receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { sendCurl } from '../../support/systems/send-curl.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

const { system, open, newDeveloper, operator, operatorApi, goodCheck } = usePortal();
const clientOf = ({ apiKey }: Pick<MadeApp, 'apiKey'>) => system.clientOf(apiKey);

function verifies({ headers, body }: ReceivedWebhook, secret: string): boolean {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
  const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
  try {
    new Webhook(secret).verify(body, signed, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

test('a developer signs up, is approved, checks, sees usage and deliveries, rotates and revokes', async () => {
  await using ada = await open();
  await using receiver = await receiveWebhooks();
  const { page, visit } = ada;
  await signUp(ada, 'ada@example.com');
  const app = await createApp(ada, 'Guild hall');
  const client = clientOf(app);
  expect((await client.check(goodCheck())).status).toBe(403);
  await requestScope(ada, app.path, 'Roles for holders of the guild token.');
  await approveScope(operator(), 'Guild hall');
  await waitUntil('the scope to be in effect', async () => (await client.check(goodCheck())).status === 200);

  const first = await client.check({ ...goodCheck(), callbackUrl: receiver.url });
  expect(first.status).toBe(202);
  const isOf = (requestId: unknown) => (webhook: ReceivedWebhook) => webhook.requestId === requestId;
  const received = await receiver.waitFor(isOf(first.body['requestId']));
  expect(verifies(received, app.webhookSecret)).toBe(true);

  await visit(app.path);
  await waitUntil('the usage to appear', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click();
    const [figure] = await page.locator('.quota .figure').allTextContents();
    return (
      /^[1-9]/.test(figure ?? '') && (await page.getByRole('img', { name: /Webhook 1 checks/ }).count()) > 0
    );
  });
  await visit(`${app.path}/webhooks`);
  await waitUntil('the delivery to appear', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click();
    return (await page.locator('.deliveries .badge', { hasText: 'Delivered' }).count()) > 0;
  });
  await page.getByRole('link', { name: String(first.body['requestId']) }).click();
  await page.locator('.row-title', { hasText: 'Attempt 1' }).waitFor();
  const payload = page.getByLabel('Payload', { exact: true });
  await waitUntilPasses(async () =>
    expect(JSON.parse((await payload.textContent()) ?? '')).toEqual(JSON.parse(received.body)),
  );
  for (const name of ['webhook-id', 'webhook-timestamp'])
    await page.getByText(String(received.headers[name]), { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Rules and result' }).click();
  await page.getByRole('link', { name: 'Attempts' }).click();
  await page.getByRole('button', { name: 'Resend' }).click();
  const isFirst = isOf(first.body['requestId']);
  await waitUntil('the message to come again', () => receiver.deliveries.filter(isFirst).length >= 2);

  await visit(`${app.path}/webhooks`);
  await page.getByRole('button', { name: 'Rotate…' }).click();
  await page.getByRole('button', { name: 'Rotate secret' }).click();
  const newSecret = await page.getByRole('textbox', { name: 'Webhook secret' }).inputValue();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  const both = await waitUntil('a message with both signatures', async () => {
    const { status, body } = await client.check({ ...goodCheck(), callbackUrl: receiver.url });
    if (status !== 202) return false;
    const webhook = await receiver.waitFor(isOf(body['requestId']));
    return verifies(webhook, newSecret) && webhook;
  });
  expect(verifies(both, app.webhookSecret)).toBe(true);

  await visit(`${app.path}/keys`);
  await page.getByRole('button', { name: /^Revoke/ }).click();
  await page.getByRole('button', { name: 'Revoke key' }).click();
  await page.getByText('Key revoked').waitFor();
  const refused = async () => (await client.check(goodCheck())).status === 401;
  await waitUntil('the key to be refused', refused);
  expect(ada.faults).toEqual([]);
});

test('the quickstart notices the approval and the first check, which then is in the list of checks', async () => {
  await using quin = await open();
  const { page } = quin;
  const developer = await newDeveloper(quin);
  const app = await createApp(quin, 'Quick');
  const sample = page.getByLabel('Sample', { exact: true });
  const expectSample = (text: string) =>
    waitUntilPasses(async () => expect(await sample.textContent()).toContain(text));
  await expectSample(app.apiKey);
  await expectSample(`${system.ready.gateways[0]}/access-control/check-roles`);
  await approveApp(operatorApi(), developer, app);
  await page.getByText('This app may make checks.').waitFor();
  const command = String(await sample.textContent());
  const answer = await waitUntil('the sample to be answered', async () => {
    const sent = await sendCurl(command, {});
    return sent.status === 200 && ((await sent.json()) as { requestId: string });
  });
  await page.getByRole('link', { name: 'see its result' }).click();
  await page.getByText(answer.requestId).first().waitFor();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  await expectNoBarrier(quin, 'a check');
  await page.getByRole('link', { name: '← Checks' }).click();
  await page.getByLabel('Outcome').selectOption('denied');
  await page.getByText('None matches these filters.').waitFor();
  await page.getByLabel('Outcome').selectOption('granted');
  await page.getByLabel('API key').selectOption({ index: 1 });
  await page.getByLabel('Role id').fill('nobody');
  await page.getByLabel('Role id').blur();
  await page.getByText('None matches these filters.').waitFor();
  await page.getByLabel('Role id').fill('funded');
  await page.getByLabel('Role id').blur();
  await page.getByRole('link', { name: answer.requestId }).waitFor();
  expect(quin.faults).toEqual([]);
});
