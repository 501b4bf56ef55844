/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Scenario: an owner shares an app with people who have an account, have none, or need a second
// factor to sign in. Each returns to the invitation, and sees of the app only what the role allows.
import { randomUUID } from 'node:crypto';
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import { type Visitor, waitForFocus } from '../../support/browser/open-browser.ts';
import { codeOf, fillSignIn, type MadeApp, PASSWORD } from '../../support/browser/portal-steps.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import type { PortalClient } from '../../support/systems/start-portal.ts';
import { waitUntilPasses } from '../../support/wait-until.ts';

const { system, open, newDeveloper, approvedApp } = usePortal();

let ola: Visitor;
let owner: PortalClient;
let app: MadeApp;
beforeAll(async () => {
  ola = await system.use(open());
  owner = await newDeveloper(ola);
  app = await approvedApp(owner, 'Team hall');
});

/** The path of an invitation that is made by the API. */
async function invite(role: string, email?: string): Promise<string> {
  const body = { role, ...(email && { email }) };
  const made = await owner.send<{ token: string }>('POST', `/api${app.path}/invitations`, body);
  return `/invitation#${made.body.token}`;
}

const invitation = ({ page }: Visitor) => page.getByText('You are invited to the app').waitFor();

test('an owner invites a person by a link; the person joins, sees the role, and loses access when removed', async () => {
  await using ben = await open();
  const { email } = await newDeveloper(ben);
  const { page } = ola;
  await ola.visit(`${app.path}/team`);
  await page.getByRole('button', { name: 'Invite' }).click();
  await waitForFocus(page.getByRole('dialog').getByLabel('E-mail address'));
  await page.keyboard.type(email);
  await page.getByRole('dialog').getByLabel('Role').selectOption('viewer');
  await expectNoBarrier(ola, 'an invitation');
  await page.getByRole('button', { name: 'Make link' }).click();
  const link = new URL(await page.getByRole('textbox', { name: 'Link' }).inputValue());
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText('Open invitations').waitFor();

  await ben.visit(link.pathname + link.hash);
  await invitation(ben);
  await expectNoBarrier(ben, 'an invitation that is opened');
  await ben.page.getByRole('button', { name: 'Join the team' }).click();
  await ben.page.getByText('You are a viewer of this app').waitFor();
  await expectNoBarrier(ben, 'an app of which one is a viewer');

  await ola.visit(`${app.path}/team`);
  await page.locator('.rows').getByText(email).waitFor();
  await expectNoBarrier(ola, 'a team');
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.getByRole('button', { name: `Remove ${email}` }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.locator('.rows').getByText(email).waitFor({ state: 'detached' });
  await ben.visit(app.path);
  await ben.page.getByRole('heading', { level: 1, name: 'Nothing here' }).waitFor();
  expect([...ola.faults, ...ben.faults]).toEqual([]);
});

test('somebody without an account signs up by way of the invitation, and returns to it', async () => {
  await using noa = await open();
  const email = `${randomUUID()}@example.com`;
  await noa.visit(await invite('viewer', email));
  await noa.page.getByText('You are invited to the team of an app').waitFor();
  await expectNoBarrier(noa, 'an invitation of somebody who is not signed in');
  // Round the forms, as somebody who is looking for the right one.
  await noa.page.getByRole('link', { name: 'Forgotten your password?' }).click();
  await noa.page.getByRole('link', { name: 'Sign in' }).click();
  await noa.page.getByRole('link', { name: 'Create an account' }).click();
  await noa.page.reload();
  await fillSignIn(noa.page, email);
  await noa.page.getByRole('button', { name: 'Create account' }).click();
  await invitation(noa);
  await noa.page.getByRole('button', { name: 'Join the team' }).click();
  await noa.page.getByText('You are a viewer of this app').waitFor();
  expect(noa.faults).toEqual([]);
});

test('somebody with the wrong account changes it, gives a code, and is at the invitation again', async () => {
  await using pia = await open();
  const { email, send } = await newDeveloper(pia);
  const factor = '/api/account/two-factor';
  const { secret } = (await send<{ secret: string }>('POST', `${factor}/begin`, { password: PASSWORD })).body;
  expect((await send('POST', factor, { code: codeOf(secret, 0) })).status).toBe(200);
  await newDeveloper(pia);
  const { page } = pia;
  await pia.visit(await invite('developer', email));
  await page.getByRole('button', { name: 'Use another account' }).click();
  await fillSignIn(page, email);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await waitForFocus(page.getByLabel('Code'));
  await page.getByLabel('Code').fill(codeOf(secret, 1));
  await page.keyboard.press('Enter');
  await invitation(pia);
  await page.getByRole('button', { name: 'Join the team' }).click();
  await page.getByText('You: developer').waitFor();
  expect(pia.faults).toEqual([]);
});

test.each(['//evil.example/', 'https://evil.example/', '/\\evil.example', '/.//evil.example'])(
  'signing in at an address that names %s leads to the first page of the portal',
  async (target) => {
    await using kim = await open();
    await kim.visit(`/sign-in#return=${encodeURIComponent(target)}`);
    await fillSignIn(kim.page, owner.email);
    await kim.page.getByRole('button', { name: 'Sign in' }).click();
    await kim.page.getByRole('heading', { level: 1, name: 'Your apps' }).waitFor();
    expect(kim.page.url()).toBe(`${system.ready.portal}/`);
    expect(kim.faults).toEqual([]);
  },
);

/** Buttons that change nothing on the server. */
const READING = /^(Refresh|Copy|Show.*)$/;

/** The buttons of the app's current page, and the links that look like buttons, by which something
 * is changed. */
async function changes({ page }: Visitor): Promise<string[]> {
  const texts = await page.locator('.app-page').locator('button, a.button').allInnerTexts();
  return texts.map((text) => text.trim()).filter((text) => !READING.test(text));
}

test('a viewer sees no form and no button that the server would refuse', async () => {
  await using receiver = await receiveWebhooks();
  const path = `/api${app.path}`;
  const rules = [{ type: 'NATIVE', chainId: system.chain.chainId, roleId: 'a', minToken: '1' }];
  expect((await owner.send('PUT', `${path}/rule-sets/holders`, { ruleSet: { rules } })).status).toBe(200);
  const sent = await owner.send<{ requestId: string }>('POST', `${path}/test-event`, {
    callbackUrl: receiver.url,
  });
  const { requestId } = sent.body;
  await receiver.waitFor(() => true);
  await using vic = await open();
  const viewer = await newDeveloper(vic);
  await viewer.send('POST', '/api/invitations/accept', {
    token: (await invite('viewer')).replace('/invitation#', ''),
  });

  const changing = ['/keys', '/rule-sets', '/rule-sets/holders', '/batches', '/webhooks', '/settings'];
  for (const section of [...changing, `/webhooks/${requestId}`]) {
    await ola.visit(app.path + section);
    await waitUntilPasses(async () => expect(await changes(ola)).not.toEqual([]));
    await vic.visit(app.path + section);
    expect([section, await changes(vic)]).toEqual([section, []]);
    await expectNoBarrier(vic, `${section} of a viewer`);
  }
  await vic.page.setViewportSize({ width: 1280, height: 860 });
  for (const section of ['', '/checks', '/watches', '/scope', '/activity']) {
    await vic.visit(app.path + section);
    expect([section, await changes(vic)]).toEqual([section, []]);
  }
  await vic.visit(`${app.path}/team`);
  expect(await changes(vic)).toEqual(['Leave']);
  for (const name of ['Quickstart', 'Try it'])
    expect(await vic.page.getByRole('link', { name, exact: true }).count()).toBe(0);
  for (const section of ['/quickstart', '/try', '/rule-sets/-new', '/batches/-new']) {
    await vic.visit(app.path + section);
    await vic.page.getByText('Your role in this app, viewer, does not allow this.').waitFor();
    expect(await changes(vic)).toEqual([]);
  }
  await expectNoBarrier(vic, 'a page that a role does not allow');
  expect(vic.faults).toEqual([]);
});
