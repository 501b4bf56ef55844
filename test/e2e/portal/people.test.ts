/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// People at the portal, in a real browser: without a mouse, on a narrow screen, with wrong input,
// with a forgotten password; and the operator.
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import { waitForFocus } from '../../support/browser/open-browser.ts';
import { enterAs, makeApp, PASSWORD, readClipboard } from '../../support/browser/portal-steps.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

const { system, open, newDeveloper, operator } = usePortal();

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
  await waitForFocus(page.getByRole('dialog').getByLabel('Name'));
  await keyboard.type('Keys only');
  await keyboard.press('Enter');
  await tabTo('button', 'Copy API key');
  await keyboard.press('Enter');
  await readClipboard(page, /^rck_live_/);
  // A slip does not hide a value that is shown once.
  await keyboard.press('Escape');
  await keyboard.press('Escape');
  await tabTo('button', 'I have stored them');
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Quickstart', level: 1 }).waitFor();
  await waitForFocus(page.getByRole('heading', { name: 'Quickstart', level: 1 }));
  await tabTo('link', 'Scope');
  await keyboard.press('Enter');
  await tabTo('textbox', 'Purpose');
  await keyboard.type('Typed.');
  await tabTo('button', 'Request scope');
  await keyboard.press('Space');
  await page.locator('.app-page').getByText('Scope requested').waitFor();
});

test('an operator first sees the requests that wait for a decision', async () => {
  await operator().visit('/');
  await operator().page.getByRole('heading', { name: 'Scope requests', level: 1 }).waitFor();
});

test('an account sees its sessions and ends the others; a link of an operator replaces a forgotten password', async () => {
  await using nia = await open();
  const { email } = await newDeveloper(nia);
  await using elsewhere = await open();
  await enterAs(elsewhere, system.ready.portal, { email, password: PASSWORD });
  await nia.visit('/account');
  await nia.page.getByText('This session').waitFor();
  await expectNoBarrier(nia, 'an account with two sessions');
  await nia.page.getByRole('button', { name: 'End all others' }).click();
  await nia.page.getByRole('button', { name: 'End sessions' }).click();
  await nia.page.getByRole('button', { name: 'End all others' }).waitFor({ state: 'detached' });
  await elsewhere.visit('/');
  await elsewhere.page.getByText('Forgotten your password?').waitFor();

  const { page, visit } = operator();
  await visit(`/operator/accounts?query=${email}`);
  await page.getByRole('link', { name: email }).click();
  await page.getByRole('button', { name: 'Reset password' }).click();
  await page.getByRole('button', { name: 'Make link' }).click();
  const link = new URL(await page.getByRole('textbox', { name: 'Link' }).inputValue());
  await expectNoBarrier(operator(), 'a link for a new password');
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.getByRole('button', { name: 'I have stored it' }).click();

  await elsewhere.visit(link.pathname + link.hash);
  await elsewhere.page.getByLabel('New password').fill('a password that is remembered');
  await expectNoBarrier(elsewhere, 'a new password by a link');
  await elsewhere.page.getByRole('button', { name: 'Set password' }).click();
  await elsewhere.page.getByText('Your password is set').waitFor();
  await elsewhere.page.getByRole('link', { name: 'Sign in' }).click();
  await elsewhere.page.getByLabel('E-mail address').fill(email);
  await elsewhere.page.getByLabel('Password').fill('a password that is remembered');
  await elsewhere.page.getByRole('button', { name: 'Sign in' }).click();
  await elsewhere.page.getByRole('heading', { level: 1, name: 'Your apps' }).waitFor();
  expect([...nia.faults, ...elsewhere.faults]).toEqual([]);
});

test('the page leads to the documentation that the gateway serves', async () => {
  await using kim = await open();
  await kim.visit('/sign-in');
  await kim.page.getByRole('link', { name: 'API documentation' }).click();
  await kim.page.getByRole('heading', { name: 'Quickstart', level: 1 }).waitFor();
  expect(new URL(kim.page.url()).origin).toBe(system.ready.gateways[0]);
});

test('on a narrow screen the menu shows where one is', async () => {
  await using ada = await open({ viewport: { width: 360, height: 740 } });
  const { path } = await makeApp(await newDeveloper(ada), 'Narrow');
  for (const [section, name] of [
    ['', 'Overview'],
    ['/try', 'Try it'],
    ['/settings', 'Settings'],
  ] as const) {
    await ada.visit(path + section);
    await waitUntil(`${name} to be in the window`, async () => {
      const place = await ada.page.getByRole('link', { name, exact: true }).boundingBox();
      return place !== null && place.x >= 0 && place.x + place.width <= 360;
    });
  }
});

test('wrong input is named beside its field, and the first field with a fault has the focus', async () => {
  await using dan = await open();
  const { page, visit } = dan;
  await visit('/sign-up');
  await page.getByRole('button', { name: 'Create account' }).click();
  const email = page.getByLabel('E-mail address');
  await waitForFocus(email);
  await waitUntilPasses(async () => {
    const describedBy = await email.getAttribute('aria-describedby');
    expect(await page.locator(`[id="${describedBy}"]`).textContent()).toBe('Please fill this in.');
  });
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

test.each(['/sign-in', '/sign-up'])('%s is a page that everybody can use', async (path) => {
  await using stranger = await open();
  await stranger.visit(path);
  await expectNoBarrier(stranger, path);
  expect(stranger.faults).toEqual([]);
});
