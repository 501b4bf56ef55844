/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Every page and dialog of the portal in a real browser, of somebody whose every text is a script:
// everybody can use it, and no script runs.
import type { Locator } from 'playwright-core';
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import { type Visitor, waitForFocus } from '../../support/browser/open-browser.ts';
import { approveScope, enterAs, type MadeApp, makeApp } from '../../support/browser/portal-steps.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { type Answer, receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { waitUntilPasses } from '../../support/wait-until.ts';

const { system, open } = usePortal();

/** Every page that an operator with apps can get to; `{app}`, `{request}` and `{new}` stand for
 * ids. */
const PAGES = [
  '/',
  '/apps',
  '/apps/{app}',
  '/apps/{app}/keys',
  '/apps/{app}/quickstart',
  '/apps/{app}/checks',
  '/apps/{app}/batches',
  '/apps/{app}/batches/-new',
  '/apps/{app}/webhooks',
  '/apps/{app}/webhooks/{request}',
  '/apps/{app}/scope',
  '/apps/{app}/try',
  '/apps/{app}/team',
  '/apps/{app}/activity',
  '/apps/{app}/settings',
  '/apps/{new}',
  '/apps/{new}/scope',
  '/account',
  '/operator',
  '/operator/accounts',
  '/operator/apps',
  '/operator/apps/{app}',
  '/operator/audit',
  '/operator/chains',
  '/nowhere',
];

const HARM = '<img src=x onerror=alert(1)>"\'><script>alert(2)</script>';
const expectText = (place: Locator) =>
  waitUntilPasses(async () => expect(await place.textContent()).toContain(HARM));

/** A failure that says something, so that the page has to show it. */
const failWithHarm: Answer = (_, response) => {
  response.writeHead(500, { 'content-type': 'text/html' }).end(HARM);
  return undefined;
};

let eve: Visitor;
let app: MadeApp;
let fresh: MadeApp;
let requestId: string;
beforeAll(async () => {
  eve = await system.use(open());
  const developer = await enterAs(eve, system.ready.portal, system.ready.operator);
  app = await makeApp(developer, HARM);
  fresh = await makeApp(developer, 'W'.repeat(64));
  await developer.send('POST', `/api${app.path}/scope`, { purpose: HARM });
  const { page, visit } = eve;
  await visit(`${app.path}/keys`);
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill(HARM);
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await using receiver = await receiveWebhooks({ answer: failWithHarm });
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

test.each(PAGES)('%s is a page that everybody can use, and on which no script runs', async (pattern) => {
  const ids = { app: app.clientId, new: fresh.clientId, request: requestId };
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: keyof typeof ids) => ids[name]);
  await eve.visit(path);
  await expectNoBarrier(eve, pattern);
  expect(eve.faults).toEqual([]);
});

test('the page shows input as text', async () => {
  const { page, visit } = eve;
  await visit(`${fresh.path}/scope`);
  await expectText(page.locator('.quoted', { hasText: 'Reason' }));
  await visit(`${app.path}/keys`);
  await page.locator('.row-title', { hasText: HARM }).waitFor();
  await visit(`${app.path}/webhooks/${requestId}`);
  await page.getByRole('button', { name: 'Show the answer' }).click();
  await expectText(page.getByLabel('Answer of the receiver'));

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
    await waitForFocus(page.getByRole('dialog').getByLabel(field));
    await page.getByRole('dialog').getByRole('button', { name: action }).waitFor();
    await expectNoBarrier(eve, opener);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await waitForFocus(button.first());
  },
);
