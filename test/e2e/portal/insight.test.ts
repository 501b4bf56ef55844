/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// A developer tries checks in a real browser, and sees their results and the usage of the app.
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import { type Visitor, waitForFocus } from '../../support/browser/open-browser.ts';
import type { MadeApp } from '../../support/browser/portal-steps.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { sendCurl } from '../../support/systems/send-curl.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

const { system, open, newDeveloper, approvedApp } = usePortal();
const { holder, stranger, erc20 } = system.chain;
let dev: Visitor;
let app: MadeApp;
let email: string;
beforeAll(async () => {
  dev = await system.use(open());
  const developer = await newDeveloper(dev);
  email = developer.email;
  app = await approvedApp(developer, 'Playground');
});

const clientOf = ({ apiKey }: MadeApp) => system.clientOf(apiKey);
const json = () => dev.page.getByLabel('Check as JSON');
/** A reloaded page first shows no check, then a default check, then the check in the address. */
const waitForJson = (isMeant: (check: Record<string, unknown>) => boolean) =>
  waitUntil('the JSON to follow', async () => {
    const text = await json().inputValue();
    return text !== '' && isMeant(JSON.parse(text));
  });
const checkOf = (url: string): string => Buffer.from(url.split('#check=')[1] ?? '', 'base64url').toString();
/** The address is updated a moment after the check; until then it holds the page's first check. */
const waitForAddress = (member: string) =>
  waitUntil('the address to follow', () => checkOf(dev.page.url()).includes(`"${member}":`));

test('the form and the JSON of a check stay in sync, and each shows the faults of both', async () => {
  const { page, visit } = dev;
  await visit(`${app.path}/try`);
  await page.getByLabel('API key').fill(app.apiKey);
  await page.getByRole('button', { name: 'Rules of rules' }).click();
  await expectNoBarrier(dev, 'an example in the playground');
  await page.getByLabel('Wallet').fill(erc20);
  await waitForJson((check) => check['account'] === erc20);
  const check = {
    account: holder,
    explain: true,
    rules: [{ type: 'ERC20', chainId: 31_337, contractAddress: erc20, minToken: '1500', roleId: 'gold' }],
  };
  await json().fill(JSON.stringify(check, null, 2).replace('"1500"', '-1'));
  await waitUntil(
    'the form to follow',
    async () => (await page.getByLabel('At least').inputValue()) === '-1',
  );
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.locator('.rule .fault').waitFor();
  const inJson = page.locator('.json-faults li');
  await inJson.filter({ hasText: 'Line 9 /rules/0/minToken' }).waitFor();
  await expectNoBarrier(dev, 'a fault by its pointer');
  await page.getByRole('button', { name: 'Line 9' }).click();
  await waitUntilPasses(async () => {
    const selected = await json().evaluate(
      (area: { value: string; selectionStart: number; selectionEnd: number }) =>
        area.value.slice(area.selectionStart, area.selectionEnd),
    );
    expect(selected).toContain('"minToken": -1');
  });

  await json().fill(JSON.stringify(check, null, 2));
  await json().press('Control+Enter');
  await page.locator('.verdicts', { hasText: 'granted' }).waitFor();
  await page.locator('.why', { hasText: 'holds 1,500.5; 1,500 or more needed, at block' }).waitFor();
  await json().fill('{\n  "account": 1,\n  "rules" []\n}');
  await inJson.filter({ hasText: 'Line 3, column 11: expected a colon.' }).waitFor();
  await waitUntil('the form to rest', () => page.getByLabel('Wallet').isDisabled());
  await expectNoBarrier(dev, 'JSON with a mistake');
  expect(dev.faults).toEqual([]);
});

test('an id that no rule set may have is named beside its field, and another one is stored', async () => {
  const { page, visit } = dev;
  await visit(`${app.path}/rule-sets/-new`);
  const id = page.getByLabel('Id', { exact: true });
  await id.fill('My holders');
  await page.getByLabel('Contract').fill(erc20);
  await page.getByRole('button', { name: 'Store' }).click();
  await page.getByText('Write a to z, 0 to 9').waitFor();
  await waitForFocus(id);
  await id.fill(' my-holders ');
  await page.getByRole('button', { name: 'Store' }).click();
  await page.getByRole('heading', { name: 'my-holders' }).waitFor();
});

test('a check is kept in the address without the key, and a reload and the shared link open it', async () => {
  const { page, visit } = dev;
  await visit(`${app.path}/try`);
  await page.getByLabel('API key').fill(app.apiKey);
  await page.getByRole('button', { name: 'Two wallets of one person' }).click();
  await waitForAddress('accounts');
  const shared = page.url();
  expect(checkOf(shared)).not.toContain('rck_');
  await page.reload();
  await waitForJson(({ accounts }) => Array.isArray(accounts) && accounts.length === 2);
  expect(await page.getByLabel('Other addresses').inputValue()).toBe(holder);
  await page.getByLabel('Role id').fill(app.apiKey);
  await page.getByText('It is too long or contains a key').waitFor();
  expect(page.url()).toBe(shared);
});

test('a poll and a webhook are followed from the acceptance to the verdict and the delivery', async () => {
  const { page, visit } = dev;
  await using receiver = await receiveWebhooks({ secret: app.webhookSecret });
  await visit(`${app.path}/try`);
  await page.getByLabel('API key').fill(app.apiKey);
  await page.getByRole('button', { name: 'Three tokens, held' }).click();
  await page.getByText('Poll', { exact: true }).click();
  await waitForJson((check) => check['async'] === true);
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.getByText('Result polled').waitFor();
  await page.locator('.verdicts', { hasText: 'granted' }).waitFor();
  const poll = String(await page.getByLabel('Poll as curl').textContent());
  expect((await sendCurl(poll, { ROLECALL_API_KEY: app.apiKey })).status).toBe(200);
  await page.getByText('Webhook', { exact: true }).click();
  await page.getByLabel('Callback URL').fill(receiver.url);
  await waitForJson((check) => check['callbackUrl'] === receiver.url && !('async' in check));
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.getByText('Attempt 1: 204').waitFor();
  await expectNoBarrier(dev, 'a webhook that was delivered');
  await page.getByRole('link', { name: 'See what was sent' }).click();
  await page.getByRole('heading', { name: 'Delivery' }).waitFor();
  await visit(`${app.path}/try`);
  await page.getByText('Webhook', { exact: true }).click();
  await waitUntil(
    'the known callback',
    async () => (await page.getByLabel('Callback URL').inputValue()) === receiver.url,
  );
});

test('a check shows how long its steps took, and its request to send again as curl or in the playground', async () => {
  const { page, visit } = dev;
  await using receiver = await receiveWebhooks({ secret: app.webhookSecret });
  const token = demoRules(system.chain).erc20({ minToken: '1500' });
  const check = {
    accounts: [holder, stranger],
    explain: true,
    callbackUrl: receiver.url,
    rules: [token, { ...token, roleId: "it's" }],
  };
  const answer = await clientOf(app).check(check);
  const requestId = String(answer.body['requestId']);
  await receiver.waitFor(({ id }) => id === `msg_${requestId}`);
  await visit(`${app.path}/checks/${requestId}`);
  await waitUntil('the delivery to be in the steps', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click();
    return (await page.getByRole('row').allTextContents()).some((row) => row.startsWith('Delivered'));
  });
  const rows = await page.getByRole('rowheader').allTextContents();
  expect(rows).toEqual(['Waited for its evaluation', 'Evaluated', 'Stored', 'Delivered']);
  await page.getByRole('button', { name: 'Show the request' }).click();
  const curl = await page.getByLabel('Request as curl').textContent();
  await expectNoBarrier(dev, 'a check with its request');
  const sent = await sendCurl(`${curl}`, { ROLECALL_API_KEY: app.apiKey });
  expect(await sent.json()).toEqual({ requestId: expect.any(String) });
  await page.getByRole('link', { name: 'Open in Try it' }).click();
  await json().waitFor();
  expect(JSON.parse(await json().inputValue())).toEqual(check);

  const shown = await system.admin('check', 'show', requestId);
  expect(shown.value).toMatchObject({
    clientId: app.clientId,
    request: check,
    result: { requestId },
    steps: expect.arrayContaining([{ name: 'stored', afterMs: expect.any(Number) }]),
    webhook: { state: 'delivered' },
  });
});

test('usage is shown by hour and by key, and tells whose fault an undetermined rule was', async () => {
  const { page, visit } = dev;
  const broken = { ...demoRules(system.chain).erc20(), contractAddress: stranger, roleId: 'broken' };
  const check = { account: holder, rules: [demoRules(system.chain).erc20(), broken] };
  await waitUntil('the check', async () => (await clientOf(app).check(check)).status === 200);
  await waitUntil('the check to be counted', async () => {
    await visit(`${app.path}?chart=causes&range=hours`);
    return (await page.getByText(/[1-9] because of the rule, 0 because of an endpoint/).count()) === 1;
  });
  await page.getByText('Show the figures').click();
  await page.getByRole('columnheader', { name: 'Because of the rule' }).waitFor();
  expect(await page.getByRole('region', { name: 'Figures' }).getByRole('row').count()).toBe(49);
  const keys = page.getByRole('region', { name: 'Checks by API key' });
  expect(await keys.getByRole('rowheader').textContent()).toContain(app.apiKey.slice(-4));
  await expectNoBarrier(dev, 'usage by hour');
  await page.getByText('30 days', { exact: true }).click();
  await waitUntil('the days', async () => (await page.locator('.figures tbody tr').count()) === 30);
});

test('an app gets one alert at 80 % and one at 100 % of its monthly quota', async () => {
  const { page, visit } = dev;
  await using receiver = await receiveWebhooks({ secret: app.webhookSecret });
  await visit(`${app.path}/settings`);
  await page.getByLabel('Alert URL').fill('http://user:password@example.com/');
  await page.getByRole('button', { name: 'Save alerts' }).click();
  await page.locator('.fault').waitFor();
  await page.getByLabel('Alert URL').fill(receiver.url);
  await page.getByRole('button', { name: 'Save alerts' }).click();
  await page.getByText('Alerts are on').waitFor();
  await expectNoBarrier(dev, 'quota alerts');
  // The smallest quota: the app has already used more.
  const raised = await system.admin('tier', 'set', email, 'enterprise', '--month', '1', '--vouch', '--json');
  expect(raised.exitCode).toBe(0);
  const alerts = () =>
    receiver.deliveries
      .filter(({ body }) => JSON.parse(body).type === 'quota.threshold')
      .map(({ body, headers, verified }) => {
        return { threshold: JSON.parse(body).threshold, id: headers['webhook-id'], verified };
      });
  await waitUntil('both alerts', async () => {
    // Totals are looked at when they change: a refused check changes them.
    await clientOf(app).check({ account: holder, rules: [demoRules(system.chain).erc20()] });
    return new Set(alerts().map(({ threshold }) => threshold)).size === 2;
  });
  // A webhook may arrive twice, and in any order, but always under the same id.
  expect(new Set(alerts().map(({ id }) => id)).size).toBe(2);
  expect(new Set(alerts().map(({ threshold }) => threshold))).toEqual(new Set([80, 100]));
  expect(alerts().every(({ verified }) => verified)).toBe(true);
});
