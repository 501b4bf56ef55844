/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Scenario: operators look for accounts, apps and changes in a real browser, against one running
// system, and a developer turns on two-factor authentication, loses the phone, and is helped;
// another forgets the password, and one signs in at an identity provider.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { commonConfig, commonEnvironment, loadEnvironment } from '#shared/config.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import { waitForFocus } from '../../support/browser/open-browser.ts';
import { codeOf, PASSWORD } from '../../support/browser/portal-steps.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { prepareOpenId } from '../../support/fakes/openid-provider.ts';
import { receiveMails } from '../../support/fakes/receive-mails.ts';
import { signUp as signUpByApi, startPortal } from '../../support/systems/start-portal.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

const portal = usePortal();
const { system, open, newDeveloper, approvedApp, goodCheck } = portal;

test('an operator searches an app, sees its checks and its account, and finds who changed it', async () => {
  await using ida = await open();
  const developer = await newDeveloper(ida);
  const app = await approvedApp(developer, 'Lighthouse of Ida');
  const client = system.clientOf(app.apiKey);
  await waitUntil('a check to succeed', async () => (await client.check(goodCheck())).status === 200);
  const operator = portal.operator();
  const { page } = operator;

  await operator.visit('/operator/apps');
  await page.getByLabel('Find by name').fill('house of ida');
  // A row that moves while it is clicked is not followed.
  await waitUntilPasses(async () => expect(await page.locator('.rows > li').count()).toBe(1));
  await page.getByRole('link', { name: 'Lighthouse of Ida' }).click();
  await page.getByRole('heading', { level: 1, name: 'Lighthouse of Ida' }).waitFor();
  // A check that a busy machine did not answer in time may count too.
  await page.getByText(/^[1-9]\d* of 10,000$/).waitFor();
  await page.getByText('approved the scope').waitFor();
  await expectNoBarrier(operator, 'an app as operators see it');
  await page.getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Suspend' }).waitFor();

  await page.getByRole('link', { name: developer.email }).click();
  await page.getByRole('heading', { level: 1, name: developer.email }).waitFor();
  await page.getByText(/^[1-9]\d* of 10,000 checks this month/).waitFor();
  await expectNoBarrier(operator, 'an account as operators see it');
  await page.getByRole('link', { name: 'All changes' }).click();
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
  await page.getByText('created the account').waitFor();
  await page.getByLabel('Action').selectOption('app-suspended');
  await page.getByText('created the account').waitFor({ state: 'detached' });
  await page.getByText('suspended the app').waitFor();
  await waitUntilPasses(async () => expect(await page.locator('.audit li').count()).toBe(1));
  await expectNoBarrier(operator, 'audit entries');
  await page.getByLabel('Until').fill('2020-01-01T00:00');
  await page.getByLabel('Until').blur();
  await page.getByText('No entry matches these filters.').waitFor();
  await page.setViewportSize({ width: 1280, height: 860 });

  await operator.visit(`/operator/accounts?query=${developer.email.slice(0, 18)}`);
  await page.getByRole('link', { name: developer.email }).waitFor();
  await expectNoBarrier(operator, 'a search for an account');
  expect(operator.faults).toEqual([]);
});

test('the page names a limit that an operator sets out of bounds, and accepts another', async () => {
  await using lea = await open();
  const { email } = await newDeveloper(lea);
  const { page, visit } = portal.operator();
  await visit(`/operator/accounts?query=${email}`);
  await page.getByRole('link', { name: email }).click();
  await page.getByRole('button', { name: 'Set tier' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('select').selectOption('enterprise');
  const field = dialog.getByLabel('Requests per second');
  await field.fill('0');
  await dialog.getByRole('button', { name: 'Set tier' }).click();
  await dialog.getByText('At least 1.').waitFor();
  await waitForFocus(field);
  await field.fill('77');
  await dialog.getByLabel('Live keys of each app').fill('7');
  await dialog.getByRole('button', { name: 'Set tier' }).click();
  await page.getByText('77', { exact: true }).waitFor();
  // A limit that is not sent is set back to the tier's default, so a change of one has to send all.
  await page.getByRole('button', { name: 'Set tier' }).click();
  await field.fill('78');
  await dialog.getByRole('button', { name: 'Set tier' }).click();
  await page.getByText('78', { exact: true }).waitFor();
  const found = await portal.operatorApi().get(`/api/operator/accounts?query=${email}`);
  expect(found.body).toMatchObject({ accounts: [{ limits: { requestsPerSecond: 78, liveKeys: 7 } }] });
});

test('a developer turns on two-factor authentication, signs in by codes and is helped by an operator', async () => {
  await using tom = await open();
  const operator = portal.operator();
  const { email } = await newDeveloper(tom);
  const { page } = tom;
  const dialog = page.getByRole('dialog');
  await tom.visit('/account');
  await page.getByRole('button', { name: 'Turn on…' }).click();
  await dialog.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await dialog.getByRole('img', { name: 'QR code' }).waitFor();
  await waitForFocus(dialog.getByLabel('Code of the app'));
  const secret = await dialog.getByRole('textbox', { name: 'Or enter this secret' }).inputValue();
  await expectNoBarrier(tom, 'the code to scan');
  await dialog.getByLabel('Code of the app').fill('000000');
  await page.keyboard.press('Enter');
  await dialog.getByText('The code is wrong').waitFor();
  await dialog.getByLabel('Code of the app').fill(codeOf(secret, 0));
  await page.keyboard.press('Enter');
  const codes = await dialog.getByRole('textbox', { name: 'Recovery codes' }).inputValue();
  expect(codes.split('\n')).toHaveLength(10);
  await expectNoBarrier(tom, 'recovery codes');
  await page.setViewportSize({ width: 1280, height: 860 });
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText('10 recovery codes left').waitFor();
  await expectNoBarrier(tom, 'an account with two factors');
  await page.setViewportSize({ width: 1280, height: 860 });

  const signIn = async (code: string) => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await waitForFocus(page.getByLabel('Code'));
    await page.getByLabel('Code').fill(code);
    await page.keyboard.press('Enter');
  };
  await signIn('000000');
  await page.getByText('The code is wrong').waitFor();
  await expectNoBarrier(tom, 'the second step of signing in');
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.getByLabel('Code').fill(codeOf(secret, 1));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Your apps' }).waitFor();
  await signIn(codes.split('\n')[0] ?? '');
  await page.getByRole('heading', { level: 1, name: 'Your apps' }).waitFor();
  await tom.visit('/account');
  await page.getByText('9 recovery codes left').waitFor();

  await operator.page.setViewportSize({ width: 1280, height: 860 });
  await operator.visit(`/operator/accounts?query=${email}`);
  await operator.page.getByRole('link', { name: email }).click();
  await operator.page.getByRole('button', { name: 'Reset two-factor' }).click();
  await expectNoBarrier(operator, 'the reset of two-factor authentication');
  await operator.page.getByRole('dialog').getByRole('button', { name: 'Reset', exact: true }).click();
  await operator.page.getByText('reset two-factor authentication').waitFor();
  await operator.page.setViewportSize({ width: 1280, height: 860 });

  await tom.visit('/sign-in');
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Your apps' }).waitFor();
  expect([...tom.faults, ...operator.faults]).toEqual([]);
});

/** Another portal of the shared system. */
function startOwnPortal(settings: Readonly<Record<string, string>>) {
  const environment = system.environment();
  const config = commonConfig(loadEnvironment(z.object(commonEnvironment), environment));
  return startPortal(config, { ...environment, ...settings });
}

test('a user who forgot the password sets a new one by a link in an e-mail', async () => {
  await using server = await receiveMails();
  const [port] = await findFreePorts(1);
  await using mailing = await startOwnPortal({
    HTTP_PORT: String(port),
    PORTAL_ORIGIN: `http://127.0.0.1:${port}`,
    SMTP_URL: server.url,
    MAIL_FROM: 'rolecall@example.com',
  });
  await using una = await open({ baseURL: mailing.url });
  const { email } = await signUpByApi(mailing.url);
  const { page } = una;
  await una.visit('/sign-in');
  await page.getByRole('link', { name: 'Forgotten your password?' }).click();
  await page.getByRole('heading', { level: 1, name: 'Forgotten your password?' }).waitFor();
  await page.getByLabel('E-mail address').fill(email);
  await expectNoBarrier(una, 'a forgotten password');
  await page.keyboard.press('Enter');
  await page.getByText('a link for a new password is on its way').waitFor();
  await expectNoBarrier(una, 'a link is on its way');
  const { text } = await server.waitFor(({ recipients }) => recipients.includes(email));
  const link = new URL(/http:\S+reset-password#\S+/.exec(text)?.[0] ?? '');
  await una.visit(link.pathname + link.hash);
  await page.getByLabel('New password').fill('a password by e-mail');
  await page.keyboard.press('Enter');
  await page.getByText('Your password is set').waitFor();
  await una.visit('/sign-in');
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill('a password by e-mail');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Your apps' }).waitFor();
  expect(una.faults).toEqual([]);

  await una.visit(`${system.ready.portal}/forgotten-password`);
  await page.getByText('Ask an operator of this service').waitFor();
});

test('a user signs in at the identity provider, and again over the page when the session has ended', async () => {
  const openid = await prepareOpenId();
  const email = `${randomUUID()}@example.com`;
  await using provider = await openid.start({ sub: email, email, email_verified: true });
  await using joined = await startOwnPortal(openid.environments[0]);
  await using una = await open({ baseURL: joined.url });
  const { page } = una;
  const signIn = () => page.getByRole('button', { name: 'Sign in at your identity provider' }).click();
  await una.visit('/account?from=link');
  await expectNoBarrier(una, 'a sign-in with an identity provider');
  await signIn();
  await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
  expect(page.url()).toBe(`${joined.url}/account?from=link`);
  // The account's log of events names it too.
  await page.getByRole('main').getByRole('paragraph').filter({ hasText: email }).waitFor();
  expect(await page.getByLabel('Current password').count()).toBe(0);
  await page.getByRole('button', { name: 'Delete account…' }).click();
  await page.getByText('within five minutes after you have signed in').waitFor();
  await page.keyboard.press('Escape');
  await page.context().clearCookies({ name: 'rolecall_session' });
  await page.getByRole('link', { name: 'Apps' }).click();
  await page.getByRole('dialog').getByText('Your session has ended').waitFor();
  await expectNoBarrier(una, 'a lost session of an identity provider');
  await signIn();
  await page.getByRole('heading', { level: 1, name: 'Your apps' }).waitFor();
  await provider.kill('SIGKILL');
  expect(una.faults).toEqual([]);
});
