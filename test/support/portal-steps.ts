import type { Visitor } from './open-browser.ts';

/** Long enough, and in nobody's list. */
export const PASSWORD = 'eleven purple wombats dance';

export type MadeApp = {
  readonly clientId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
  /** `/apps/…` */
  readonly path: string;
};

/** Makes an account by the page, which then is signed in. */
export async function signUp({ visit, page }: Visitor, email: string): Promise<void> {
  await visit('/sign-up');
  await fillSignIn(page, email, PASSWORD);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: 'Your apps' }).waitFor();
}

export async function signIn(
  { visit, page }: Visitor,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  await visit('/sign-in');
  await fillSignIn(page, email, password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: /^(Your apps|Scope requests)$/ }).waitFor();
}

async function fillSignIn(page: Visitor['page'], email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
}

/** Makes an app, copies its key by the button, and goes on to its page. */
export async function createApp({ visit, page }: Visitor, name: string): Promise<MadeApp> {
  await visit('/apps');
  await page.getByRole('button', { name: 'Create app' }).click();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('dialog').getByRole('button', { name: 'Create app' }).click();
  const made = await readMadeApp(page);
  await page.getByRole('button', { name: 'I have stored them' }).click();
  await page.getByRole('heading', { name: 'Quickstart' }).waitFor();
  return made;
}

/** What the dialog shows once; the key as the copy button puts it on the clipboard. */
export async function readMadeApp(page: Visitor['page']): Promise<MadeApp> {
  const fieldValue = (label: string) => page.getByRole('textbox', { name: label, exact: true }).inputValue();
  const clientId = await fieldValue('Client ID');
  await page.getByRole('button', { name: 'Copy API key' }).click();
  const apiKey = await page.evaluate<string>('navigator.clipboard.readText()');
  return { clientId, apiKey, webhookSecret: await fieldValue('Webhook secret'), path: `/apps/${clientId}` };
}

export async function requestScope({ visit, page }: Visitor, path: string, purpose: string): Promise<void> {
  await visit(`${path}/scope`);
  await page.getByLabel('Purpose').fill(purpose);
  await page.getByRole('button', { name: 'Request scope' }).click();
  await page.locator('.app-page').getByText('Scope requested').waitFor();
}

/** As somebody who is signed in as an operator. */
export async function approveScope({ visit, page }: Visitor, name: string): Promise<void> {
  await visit('/operator');
  await page.getByRole('button', { name: `Approve ${name}`, exact: true }).click();
  await page.getByText(`${name} approved`).waitFor();
}
