/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// In a real browser: a double click, a lost connection, an ended session, a second tab, Back and a
// reload lose nothing and do nothing twice.

import type { Locator } from 'playwright-core';
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import type { Visitor } from '../../support/browser/open-browser.ts';
import { makeApp, PASSWORD, readMadeApp, signIn } from '../../support/browser/portal-steps.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

const { open, newDeveloper } = usePortal();
const expectValue = (field: Locator, value: string) =>
  waitUntilPasses(async () => expect(await field.inputValue()).toBe(value));

async function expectApps({ page, visit }: Visitor, count: number): Promise<void> {
  await visit('/apps');
  const apps = page.locator('.app-rows > li');
  await waitUntilPasses(async () => expect(await apps.count()).toBe(count));
}

test('a double click, or a connection that is lost after the write, creates the resource once', async () => {
  await using cat = await open();
  const { page } = cat;
  await newDeveloper(cat);
  await cat.visit('/apps');
  await page.getByRole('button', { name: 'Create app' }).click();
  await page.getByLabel('Name').fill('Twice');
  await page.getByRole('dialog').getByRole('button', { name: 'Create app' }).dblclick();
  await readMadeApp(page);
  await page.getByRole('button', { name: 'I have stored them' }).click();
  await expectApps(cat, 1);

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
  await page.getByRole('alert').getByText('it is done only once').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  const app = await readMadeApp(page);
  expect(app.apiKey).toMatch(/^rck_live_/);
  await page.getByRole('button', { name: 'I have stored them' }).click();
  await expectApps(cat, 2);
});

/** Signs in again over the page that the session ended on. */
async function signInAgain({ page }: Visitor): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
}

test('when the session has ended, signing in again leads to the requested page', async () => {
  await using fay = await open();
  const { page } = fay;
  const app = await makeApp(await newDeveloper(fay), 'Interrupted');
  await fay.visit(app.path);
  await page.context().clearCookies();
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await signInAgain(fay);
  await page.getByText('No deliveries').waitFor();
  await waitUntilPasses(async () => expect(new URL(page.url()).pathname).toBe(`${app.path}/webhooks`));
});

test('a page keeps its data and input when reading it again fails, and says so', async () => {
  await using gil = await open();
  const { page } = gil;
  const app = await makeApp(await newDeveloper(gil), 'Read again');
  await gil.visit(`${app.path}/settings`);
  const typed = 'https://example.com/half-typed';
  await page.getByLabel('Alert URL').fill(typed);
  let isAway = true;
  await page.route(`**/api${app.path}`, (route) =>
    isAway && route.request().method() === 'GET'
      ? route.fulfill({ status: 503, json: { code: 'dependency-unavailable', detail: 'Not available.' } })
      : route.continue(),
  );
  await page.getByLabel('Name').fill('Renamed');
  await page.getByRole('button', { name: 'Rename' }).click();
  const notice = page.getByText('This page may be out of date.');
  await notice.waitFor();
  await expectValue(page.getByLabel('Alert URL'), typed);
  await expectNoBarrier(gil, 'a page that may be out of date');
  isAway = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'Renamed' }).waitFor();
  await notice.waitFor({ state: 'detached' });
  await expectValue(page.getByLabel('Alert URL'), typed);
});

test('a form keeps its input when the session ends before it is sent', async () => {
  await using fred = await open();
  const { page } = fred;
  const app = await makeApp(await newDeveloper(fred), 'Typed for long');
  await fred.visit(`${app.path}/scope`);
  await page.getByLabel('Purpose').fill('Half an hour of thought.');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Request scope' }).click();
  await expectNoBarrier(fred, 'signing in again');
  await signInAgain(fred);
  await expectValue(page.getByLabel('Purpose'), 'Half an hour of thought.');
  await page.getByRole('button', { name: 'Request scope' }).click();
  await page.locator('.app-page').getByText('Scope requested').waitFor();

  await fred.visit('/apps');
  await page.getByRole('button', { name: 'Create app' }).click();
  await page.getByLabel('Name').fill('In a dialog');
  await page.context().clearCookies();
  await page.getByRole('dialog').getByRole('button', { name: 'Create app' }).click();
  await signInAgain(fred);
  await expectValue(page.getByLabel('Name'), 'In a dialog');
  await page.getByRole('dialog').getByRole('button', { name: 'Create app' }).click();
  expect((await readMadeApp(page)).apiKey).toMatch(/^rck_live_/);
});

test('signing out in one tab signs out every other tab, and signing in comes back to them', async () => {
  await using gus = await open();
  const { page } = gus;
  const developer = await newDeveloper(gus);
  const app = await makeApp(developer, 'Two tabs');
  await gus.visit(app.path);
  const second = await page.context().newPage();
  await second.goto(`${app.path}/keys`);
  await second.getByRole('button', { name: /^Revoke/ }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await second.getByRole('button', { name: 'Sign in' }).waitFor();
  await waitUntil('the keys to be gone', async () => (await second.getByText('rck_live_').count()) === 0);
  await signIn(gus, { email: developer.email, password: PASSWORD });
  await second.getByRole('button', { name: /^Revoke/ }).waitFor();
});

test('credentials that are shown once are not lost by Back, and a reload asks first', async () => {
  await using hal = await open();
  const { page } = hal;
  const app = await makeApp(await newDeveloper(hal), 'Once');
  await hal.visit(app.path);
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('Second');
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  const apiKey = await page.getByRole('textbox', { name: 'API key' }).inputValue();
  await page.getByText('reload or leave this page').waitFor();
  await page.goBack();
  await page.getByRole('alert').getByText('You are still here').waitFor();
  await waitUntilPasses(async () => expect(new URL(page.url()).pathname).toBe(`${app.path}/keys`));
  // The visitor answers every question of the browser with "stay", and notes it.
  await page.close({ runBeforeUnload: true });
  await waitUntil('the browser to ask', () => hal.faults.length === 1);
  await expectValue(page.getByRole('textbox', { name: 'API key' }), apiKey);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.waitForURL(`**${app.path}`);
  await page.goBack();
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
});

test('a list is filtered by its address, so that Back and a reload show the same list', async () => {
  await using ivy = await open();
  const { page } = ivy;
  await using receiver = await receiveWebhooks({ answer: 500 });
  const app = await makeApp(await newDeveloper(ivy), 'Filtered');
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
  await expectValue(page.getByLabel('State'), 'pending');
  await page.reload();
  await delivery.waitFor();
  await expectValue(page.getByLabel('State'), 'pending');
  await delivery.click();
  await page.getByRole('link', { name: '← Webhooks' }).click();
  await delivery.waitFor();
  await expectValue(page.getByLabel('State'), 'pending');
});
