// Scenario: people use the portal in a real browser against one running system: a developer from the sign-up to a
// revoked key, somebody without a mouse, somebody with a bad connection, and somebody who means harm.
import { Webhook } from 'standardwebhooks';
import { makeCheckClient } from '../support/check-client.ts';
import { demoRules } from '../support/demo-rules.ts';
import { isFocused, openBrowser, type TestBrowser, type Visitor } from '../support/open-browser.ts';
import {
  approveScope,
  createApp,
  type MadeApp,
  PASSWORD,
  readMadeApp,
  requestScope,
  signIn,
  signUp,
} from '../support/portal-steps.ts';
import { type Answer, type ReceivedWebhook, receiveWebhooks } from '../support/receive-webhooks.ts';
import { type StartedSystem, startSystem } from '../support/start-system.ts';
import { waitUntil } from '../support/wait-until.ts';

let system: StartedSystem;
let browser: TestBrowser;
let operator: Visitor;
beforeAll(async () => {
  [system, browser] = await Promise.all([startSystem(), openBrowser()]);
  operator = await open();
  await signIn(operator, system.ready.operator);
});
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await browser?.[Symbol.asyncDispose]();
  await system?.[Symbol.asyncDispose]();
});

const open = (options?: Parameters<TestBrowser['open']>[1]) => browser.open(system.ready.portal, options);
const clientOf = ({ apiKey }: Pick<MadeApp, 'apiKey'>) =>
  makeCheckClient({ url: system.ready.gateways[0] ?? '', apiKey });
const goodCheck = () => ({ account: system.chain.holder, rules: [demoRules(system.chain).erc20()] });

/** A failure that says something, so that the page has to show it. */
const answerWith =
  (text: string): Answer =>
  (_, response) => {
    response.writeHead(500, { 'content-type': 'text/html' }).end(text);
    return undefined;
  };

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
  await approveScope(operator, 'Guild hall');
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
  await page.getByText('Attempt 1').waitFor();
  await page.getByRole('button', { name: 'Resend' }).click();
  const isFirst = isOf(first.body['requestId']);
  await waitUntil('the message to come again', () => receiver.deliveries.filter(isFirst).length === 2);

  await visit(`${app.path}/webhooks`);
  await page.getByRole('button', { name: 'Rotate…' }).click();
  await page.getByRole('button', { name: 'Rotate secret' }).click();
  const newSecret = await page.getByRole('textbox', { name: 'Webhook secret' }).inputValue();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  const both = await waitUntil('a message with both signatures', async () => {
    const { body } = await client.check({ ...goodCheck(), callbackUrl: receiver.url });
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
  await signUp(quin, 'quin@example.com');
  const app = await createApp(quin, 'Quick');
  const sample = page.getByLabel('Sample', { exact: true });
  expect(await sample.textContent()).toContain(app.apiKey);
  await page.getByText('Python').click();
  expect(await sample.textContent()).toContain(`${system.ready.gateways[0]}/access-control/check-roles`);
  await using window = await open();
  await signIn(window, { email: 'quin@example.com', password: PASSWORD });
  await requestScope(window, app.path, 'A first try.');
  await approveScope(operator, 'Quick');
  await page.getByText('This app may make checks.').waitFor();
  const client = clientOf(app);
  const answer = await waitUntil('the scope to be in effect', async () => {
    const found = await client.check(goodCheck());
    return found.status === 200 && found;
  });
  await page.getByRole('link', { name: 'see its result' }).click();
  await page.getByText(String(answer.body['requestId'])).first().waitFor();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  await expectNoBarrier(quin, 'a check');
  await page.getByRole('link', { name: '← Checks' }).click();
  await page.getByLabel('Outcome').selectOption('denied');
  await page.getByText('None matches these filters.').waitFor();
  await page.getByLabel('Outcome').selectOption('granted');
  await page.getByRole('link', { name: String(answer.body['requestId']) }).waitFor();
  expect(quin.faults).toEqual([]);
});

test('the form builds a rule of rules and a call of a contract over two wallets, and shows what was compared', async () => {
  await using eli = await open();
  const { page } = eli;
  await signUp(eli, 'eli@example.com');
  const app = await createApp(eli, 'Rich');
  await requestScope(eli, app.path, 'Trying.');
  await approveScope(operator, 'Rich');
  await eli.visit(`${app.path}/try`);
  await page.getByLabel('API key').fill(app.apiKey);
  await page.getByLabel('Wallet').fill(system.chain.stranger);
  await page.getByLabel('Type').selectOption('AT_LEAST');
  await page.getByRole('button', { name: 'Add to rule 1' }).click();
  const [first, second] = [page.locator('.rule .rule').nth(0), page.locator('.rule .rule').nth(1)];
  await first.getByRole('textbox', { name: 'Contract' }).fill(system.chain.erc20);
  await first.getByLabel('At least').fill('1500.6');
  await second.getByLabel('Type').selectOption('CONTRACT');
  await second.getByRole('textbox', { name: 'Contract' }).fill(system.chain.erc20);
  await second.getByLabel('Function').fill('function balanceOf(address who) view returns (uint256)');
  await second.getByLabel('Arguments').fill('$account\n7');
  await second.getByLabel('Comparison').selectOption('gte');
  await second.getByLabel('Value').fill('1500500000');
  await page.getByText('More options').click();
  await page.getByLabel('Other addresses').fill(system.chain.holder);
  await page.getByRole('button', { name: 'Run check' }).click();
  await second.locator('.fault').getByText('one text per input of balanceOf').waitFor();
  await second.getByLabel('Arguments').fill('$account');
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.locator('.verdicts', { hasText: 'granted' }).waitFor();
  const why = await page.locator('.why').first().textContent();
  for (const words of [
    'at least 1 of these',
    'balance 1500.5, needs ≥ 1500.6',
    'balanceOf 1500500000 ≥ 1500500000',
  ])
    expect(why).toContain(words);
  await expectNoBarrier(eli, 'a check of rules inside of rules');
});

test('the form tries a check on a configured chain, with the demo wallets and the key that was just made', async () => {
  await using ida = await open();
  const { page } = ida;
  await signUp(ida, 'ida@example.com');
  const app = await createApp(ida, 'Tryout');
  await requestScope(ida, app.path, 'Trying.');
  await approveScope(operator, 'Tryout');
  await ida.visit(`${app.path}/try`);
  expect(await page.getByLabel('Chain').locator('option').allTextContents()).toEqual(['Demo chain (31337)']);
  await page.getByLabel('API key').fill(app.apiKey);
  await page.getByLabel('Wallet').fill(system.chain.holder);
  await page.getByRole('textbox', { name: 'Contract' }).fill('0x12');
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.locator('.rule .fault').waitFor();
  const verdicts = page.locator('.verdicts > li');
  for (const [button, verdict] of [
    ['A wallet that holds them', 'granted'],
    ['A wallet that does not', 'denied'],
  ] as const) {
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('button', { name: 'Run check' }).click();
    await page.locator('.verdicts', { hasText: verdict }).waitFor();
    const roles = ['holder', 'collector', 'player'];
    expect(await verdicts.allTextContents()).toEqual(roles.map((role) => role + verdict));
  }
  const curl = await page.getByLabel('Request as curl').textContent();
  expect(curl).toContain(system.chain.erc20);
  expect(curl).not.toContain(app.apiKey);

  // Two rules of one role are one verdict, and what cannot be read is told in words.
  await page.getByLabel('Role id').nth(1).fill('holder');
  await page.getByRole('textbox', { name: 'Contract' }).nth(2).fill(system.chain.holder);
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.getByText('Rule 3 could not be read: There is no contract at this address.').waitFor();
  expect(await verdicts.allTextContents()).toEqual(['playerundetermined', 'holderdenied']);
});

test('everything up to the scope request can be done without a mouse', async () => {
  await using bob = await open();
  const { page, tabTo, visit } = bob;
  const { keyboard } = page;
  await visit('/sign-up');
  await page.evaluate('document.activeElement.blur()');
  await tabTo('link', 'Skip to content');
  await keyboard.press('Enter');
  await tabTo('textbox', 'E-mail address');
  await keyboard.type('bob@example.com');
  await tabTo('textbox', 'Password');
  await keyboard.type(PASSWORD);
  await keyboard.press('Enter');
  await tabTo('button', 'Create app');
  await keyboard.press('Enter');
  await keyboard.type('Keys only');
  await keyboard.press('Enter');
  await tabTo('button', 'Copy API key');
  await keyboard.press('Enter');
  const apiKey = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(apiKey).toMatch(/^rck_live_/);
  // What is shown once does not go away by a slip.
  await keyboard.press('Escape');
  await keyboard.press('Escape');
  await tabTo('button', 'I have stored them');
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Quickstart', level: 1 }).waitFor();
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Quickstart');
  await tabTo('link', 'Scope');
  await keyboard.press('Enter');
  await tabTo('textbox', 'Purpose');
  await keyboard.type('Typed.');
  await tabTo('button', 'Request scope');
  await keyboard.press('Space');
  await page.locator('.app-page').getByText('Scope requested').waitFor();
});

async function countApps({ page, visit }: Visitor): Promise<number> {
  await visit('/apps');
  const apps = page.locator('.app-rows > li');
  await apps.first().waitFor();
  return apps.count();
}

test('a double click, and a connection that is lost after the write, make one of what was asked for', async () => {
  await using cat = await open();
  const { page } = cat;
  await signUp(cat, 'cat@example.com');
  await page.getByRole('button', { name: 'Create app' }).click();
  await page.getByLabel('Name').fill('Twice');
  await page.getByRole('dialog').getByRole('button', { name: 'Create app' }).dblclick();
  await readMadeApp(page);
  await page.getByRole('button', { name: 'I have stored them' }).click();
  expect(await countApps(cat)).toBe(1);

  let isLost = false;
  await page.route('**/api/apps', async (route) => {
    if (isLost || route.request().method() !== 'POST') return route.continue();
    isLost = true;
    await route.fetch();
    await route.abort('connectionreset');
  });
  await page.getByRole('button', { name: 'Create app' }).click();
  await page.getByLabel('Name').fill('Lost and found');
  await page.getByRole('dialog').getByRole('button', { name: 'Create app' }).click();
  await page.getByRole('alert').getByText('it never happens twice').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  const app = await readMadeApp(page);
  expect(app.apiKey).toMatch(/^rck_live_/);
  await page.getByRole('button', { name: 'I have stored them' }).click();
  expect(await countApps(cat)).toBe(2);
});

/** Signs in again over the page that the session ended on. */
async function signInAgain({ page }: Visitor): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
}

test('when the session has ended, signing in again leads on to the page that was asked for', async () => {
  await using fay = await open();
  const { page } = fay;
  await signUp(fay, 'fay@example.com');
  const app = await createApp(fay, 'Interrupted');
  await page.context().clearCookies();
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await signInAgain(fay);
  await page.getByText('No deliveries').waitFor();
  expect(new URL(page.url()).pathname).toBe(`${app.path}/webhooks`);
});

test('a form keeps what was typed when the session ends before it is sent', async () => {
  await using fred = await open();
  const { page } = fred;
  await signUp(fred, 'fred@example.com');
  const app = await createApp(fred, 'Typed for long');
  await fred.visit(`${app.path}/scope`);
  await page.getByLabel('Purpose').fill('Half an hour of thought.');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Request scope' }).click();
  await expectNoBarrier(fred, 'signing in again');
  await signInAgain(fred);
  expect(await page.getByLabel('Purpose').inputValue()).toBe('Half an hour of thought.');
  await page.getByRole('button', { name: 'Request scope' }).click();
  await page.locator('.app-page').getByText('Scope requested').waitFor();

  await fred.visit('/apps');
  await page.getByRole('button', { name: 'Create app' }).click();
  await page.getByLabel('Name').fill('In a dialog');
  await page.context().clearCookies();
  await page.getByRole('dialog').getByRole('button', { name: 'Create app' }).click();
  await signInAgain(fred);
  expect(await page.getByLabel('Name').inputValue()).toBe('In a dialog');
  await page.getByRole('dialog').getByRole('button', { name: 'Create app' }).click();
  expect((await readMadeApp(page)).apiKey).toMatch(/^rck_live_/);
});

test('signing out in one tab signs out every other tab, and signing in comes back to them', async () => {
  await using gus = await open();
  const { page } = gus;
  await signUp(gus, 'gus@example.com');
  const app = await createApp(gus, 'Two tabs');
  const second = await page.context().newPage();
  await second.goto(`${app.path}/keys`);
  await second.getByRole('button', { name: /^Revoke/ }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await second.getByRole('button', { name: 'Sign in' }).waitFor();
  expect(await second.getByText('rck_live_').count()).toBe(0);
  await signIn(gus, { email: 'gus@example.com', password: PASSWORD });
  await second.getByRole('button', { name: /^Revoke/ }).waitFor();
});

test('credentials that are shown once are not lost by Back, and a reload asks first', async () => {
  await using hal = await open();
  const { page } = hal;
  await signUp(hal, 'hal@example.com');
  const app = await createApp(hal, 'Once');
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('Second');
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  const apiKey = await page.getByRole('textbox', { name: 'API key' }).inputValue();
  await page.getByText('reload or leave this page').waitFor();
  await page.goBack();
  await page.getByRole('alert').getByText('You are still here').waitFor();
  expect(new URL(page.url()).pathname).toBe(`${app.path}/keys`);
  // The visitor answers every question of the browser with "stay", and notes it.
  await page.close({ runBeforeUnload: true });
  await waitUntil('the browser to ask', () => hal.faults.length === 1);
  expect(await page.getByRole('textbox', { name: 'API key' }).inputValue()).toBe(apiKey);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.goBack();
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
});

test('a list is filtered by its address, so that Back and a reload show the same list', async () => {
  await using ivy = await open();
  const { page } = ivy;
  await using receiver = await receiveWebhooks({ answer: answerWith('no') });
  await signUp(ivy, 'ivy@example.com');
  const app = await createApp(ivy, 'Filtered');
  await ivy.visit(`${app.path}/webhooks`);
  await page.getByLabel('Callback URL').fill(receiver.url);
  await page.getByRole('button', { name: 'Send test event' }).click();
  const { requestId } = await receiver.waitFor(() => true);
  await page.getByLabel('State').selectOption('pending');
  const delivery = page.locator('.deliveries').getByRole('link', { name: requestId });
  await waitUntil('the failed attempt in words', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click();
    return (await page.getByText('The receiver failed (500)').count()) > 0;
  });
  await delivery.click();
  await page.getByRole('heading', { name: 'Delivery' }).waitFor();
  await page.goBack();
  await delivery.waitFor();
  expect(await page.getByLabel('State').inputValue()).toBe('pending');
  await page.reload();
  await delivery.waitFor();
  expect(await page.getByLabel('State').inputValue()).toBe('pending');
  await delivery.click();
  await page.getByRole('link', { name: '← Webhooks' }).click();
  await delivery.waitFor();
  expect(await page.getByLabel('State').inputValue()).toBe('pending');
});

test('an operator sees first who waits for a decision', async () => {
  await operator.visit('/');
  expect(await operator.page.getByRole('heading', { level: 1 }).textContent()).toBe('Scope requests');
});

test('the page leads to the documentation that the gateway serves', async () => {
  await using kim = await open();
  await kim.visit('/sign-in');
  await kim.page.getByRole('link', { name: 'Read the API' }).click();
  await kim.page.getByRole('heading', { name: 'Quickstart', level: 1 }).waitFor();
  expect(new URL(kim.page.url()).origin).toBe(system.ready.gateways[0]);
});

test('on a narrow screen the menu shows where one is', async () => {
  await using ada = await open({ viewport: { width: 360, height: 740 } });
  await signUp(ada, 'narrow@example.com');
  const { path } = await createApp(ada, 'Narrow');
  for (const [section, name] of [
    ['', 'Overview'],
    ['/try', 'Try it'],
    ['/settings', 'Settings'],
  ] as const) {
    await ada.visit(path + section);
    const place = await ada.page.getByRole('link', { name, exact: true }).boundingBox();
    expect([name, (place?.x ?? -1) >= 0 && (place?.x ?? 0) + (place?.width ?? 0) <= 360]).toEqual([
      name,
      true,
    ]);
  }
});

test('wrong input is named beside its field, and the first field with a fault has the focus', async () => {
  await using dan = await open();
  const { page, visit } = dan;
  await visit('/sign-up');
  await page.getByRole('button', { name: 'Create account' }).click();
  const email = page.getByLabel('E-mail address');
  expect(await isFocused(email)).toBe(true);
  const describedBy = await email.getAttribute('aria-describedby');
  expect(await page.locator(`[id="${describedBy}"]`).textContent()).toBe('Please fill this in.');
  await email.fill('dan@example.com');
  await page.getByLabel('Password').fill('too short');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('At least 12 characters.', { exact: true }).waitFor();
  await visit('/sign-in');
  await email.fill('dan@example.com');
  await page.getByLabel('Password').fill('not the password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
});

/** Every page that an operator with apps can get to; `{app}`, `{request}` and `{new}` stand for ids. */
const PAGES = [
  '/',
  '/apps',
  '/apps/{app}',
  '/apps/{app}/keys',
  '/apps/{app}/quickstart',
  '/apps/{app}/checks',
  '/apps/{app}/webhooks',
  '/apps/{app}/webhooks/{request}',
  '/apps/{app}/scope',
  '/apps/{app}/try',
  '/apps/{app}/snippets',
  '/apps/{app}/activity',
  '/apps/{app}/settings',
  '/apps/{new}',
  '/apps/{new}/scope',
  '/account',
  '/operator',
  '/operator/accounts',
  '/operator/apps',
  '/operator/dead-letters',
  '/nowhere',
];

const LOOKS = [
  { width: 1280, height: 860, colorScheme: 'light' },
  { width: 360, height: 740, colorScheme: 'dark' },
] as const;

/** Looks at the page as it is now, wide and narrow, light and dark. */
async function expectNoBarrier({ page, findBarriers, overflowPx }: Visitor, name: string): Promise<void> {
  for (const { colorScheme, ...size } of LOOKS) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    const look = `${name} at ${size.width} px, ${colorScheme}`;
    expect({ look, barriers: await findBarriers() }).toEqual({ look, barriers: [] });
    expect({ look, overflowPx: await overflowPx() }).toEqual({ look, overflowPx: 0 });
  }
}

describe('of somebody whose every text is a script', () => {
  const HARM = '<img src=x onerror=alert(1)>"\'><script>alert(2)</script>';
  let eve: Visitor;
  let app: MadeApp;
  let fresh: MadeApp;
  let requestId: string;
  beforeAll(async () => {
    eve = await open();
    await signIn(eve, system.ready.operator);
    app = await createApp(eve, HARM);
    fresh = await createApp(eve, 'W'.repeat(64));
    await requestScope(eve, app.path, HARM);
    const { page, visit } = eve;
    await visit(`${app.path}/keys`);
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Name').fill(HARM);
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await using receiver = await receiveWebhooks({ answer: answerWith(HARM) });
    await visit(`${app.path}/webhooks`);
    await page.getByLabel('Callback URL').fill(`${receiver.url}?${HARM.replaceAll(' ', '/')}`);
    await page.getByRole('button', { name: 'Send test event' }).click();
    requestId = (await receiver.waitFor(() => true)).requestId;
    await visit(`${fresh.path}/scope`);
    await page.getByLabel('Purpose').fill(HARM);
    await page.getByRole('button', { name: 'Request scope' }).click();
    await page.locator('.app-page').getByText('Scope requested').waitFor();
    await visit('/operator');
    await page.getByRole('button', { name: `Reject ${'W'.repeat(64)}` }).click();
    await page.getByLabel('Reason').fill(HARM);
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
    await page.getByText(/rejected$/).waitFor();
  });
  afterAll(() => eve?.[Symbol.asyncDispose]());

  test.each(PAGES)('%s is a page that everybody can use, and on which no script runs', async (pattern) => {
    const ids = { app: app.clientId, new: fresh.clientId, request: requestId };
    const path = pattern.replace(/\{(\w+)\}/g, (_, name: keyof typeof ids) => ids[name]);
    await eve.visit(path);
    await eve.page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await expectNoBarrier(eve, pattern);
    expect(eve.faults).toEqual([]);
  });

  test('what was typed is there as text', async () => {
    const { page, visit } = eve;
    await visit(`${fresh.path}/scope`);
    expect(await page.locator('.quoted', { hasText: 'Reason' }).textContent()).toContain(HARM);
    await visit(`${app.path}/keys`);
    await page.locator('.row-title', { hasText: HARM }).waitFor();
    await visit(`${app.path}/webhooks/${requestId}`);
    expect(await page.locator('pre').first().textContent()).toContain(HARM);

    await approveScope(eve, HARM);
    await visit(`${app.path}/try`);
    await page.getByLabel('API key').fill(app.apiKey);
    await page.getByLabel('Wallet').fill(system.chain.holder);
    await page.getByRole('textbox', { name: 'Contract' }).fill(system.chain.erc20);
    await page.getByLabel('Role id').fill(HARM);
    await page.getByRole('button', { name: 'Run check' }).click();
    await page.locator('.verdicts', { hasText: HARM }).waitFor();
    await expectNoBarrier(eve, 'a tried check');
    expect(eve.faults).toEqual([]);
  });

  test.each([
    ['Create app', '/apps', 'Create app', 'Name'],
    ['Create key', '/apps/{app}/keys', 'Create key', 'Name'],
    ['Roll', '/apps/{app}/keys', 'Roll key', 'The old key stops working'],
    ['Rotate…', '/apps/{app}/webhooks', 'Rotate secret', 'The old secret stops signing'],
    ['Resend failed…', '/apps/{app}/webhooks', 'Resend', 'Failed within'],
    ['Delete app…', '/apps/{app}/settings', 'Delete app', /^Type/],
  ])(
    'the dialog behind “%s” begins at its first field, and everybody can use it',
    async (opener, pattern, action, field) => {
      const { page, visit } = eve;
      await visit(pattern.replace('{app}', app.clientId));
      const button = page.locator('button').filter({ hasText: new RegExp(`^${opener}$`) });
      await button.first().click();
      expect(await isFocused(page.getByRole('dialog').getByLabel(field))).toBe(true);
      await page.getByRole('dialog').getByRole('button', { name: action }).waitFor();
      await expectNoBarrier(eve, opener);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe(opener);
    },
  );
});

test.each(['/sign-in', '/sign-up'])('%s is a page that everybody can use', async (path) => {
  await using stranger = await open();
  await stranger.visit(path);
  await expectNoBarrier(stranger, path);
  expect(stranger.faults).toEqual([]);
});
