import { Secret, TOTP } from 'otpauth';
import {
  createApp as createAppByApi,
  makePortalClient,
  PASSWORD,
  type PortalClient,
  signUp as signUpByApi,
} from '../systems/start-portal.ts';
import { waitUntil } from '../wait-until.ts';
import type { Visitor } from './open-browser.ts';

export { PASSWORD };

export type MadeApp = {
  readonly clientId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
  /** `/apps/…` */
  readonly path: string;
};

/** Signs up a new account through the API, for tests of later steps. The visitor's pages are signed
 * in. */
export async function enter({ page }: Visitor, portal: string): Promise<PortalClient> {
  const client = await signUpByApi(portal);
  await giveSession(page, portal, client);
  return client;
}

/** Signs in through the API, as `enter` does. */
export async function enterAs(
  { page }: Visitor,
  portal: string,
  credentials: { readonly email: string; readonly password: string },
): Promise<PortalClient> {
  const client = makePortalClient(portal, credentials.email);
  await client.send('POST', '/api/sign-in', credentials);
  await giveSession(page, portal, client);
  return client;
}

async function giveSession(page: Visitor['page'], portal: string, client: PortalClient): Promise<void> {
  const cookie = { name: 'rolecall_session', value: client.token() ?? '', url: portal };
  await page.context().addCookies([cookie]);
}

/** Creates an app through the API. */
export async function makeApp(developer: PortalClient, name: string): Promise<MadeApp> {
  const app = await createAppByApi(developer, name);
  return { ...app, path: `/apps/${app.clientId}` };
}

/** Requests the scope of an app and has it approved, through the API. */
export async function approveApp(
  operator: PortalClient,
  developer: PortalClient,
  { clientId }: MadeApp,
): Promise<void> {
  await developer.send('POST', `/api/apps/${clientId}/scope`, { purpose: 'Trying.' });
  const { status } = await operator.send('POST', `/api/operator/apps/${clientId}/approve`);
  if (status !== 200) throw new Error(`the approval got the status ${status}`);
}

/** Creates an account on the page, which signs it in. */
export async function signUp({ visit, page }: Visitor, email: string): Promise<void> {
  await visit('/sign-up');
  await fillSignIn(page, email);
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

export async function fillSignIn(page: Visitor['page'], email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
}

/** The one-time code of a base32 secret, a number of steps of 30 s from now. */
export const codeOf = (secret: string, steps: number): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });

/** Creates an app, copies its key with the button, and continues to its page. */
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

/** The secrets that the dialog shows once; the key as the copy button puts it on the clipboard. */
export async function readMadeApp(page: Visitor['page']): Promise<MadeApp> {
  const fieldValue = (label: string) => page.getByRole('textbox', { name: label, exact: true }).inputValue();
  const clientId = await fieldValue('Client ID');
  const shown = await fieldValue('API key');
  await page.getByRole('button', { name: 'Copy API key' }).click();
  const apiKey = await readClipboard(page, shown);
  return { clientId, apiKey, webhookSecret: await fieldValue('Webhook secret'), path: `/apps/${clientId}` };
}

/** Waits until the clipboard holds a text: the page copies after the click. */
export const readClipboard = (page: Visitor['page'], wanted: string | RegExp): Promise<string> =>
  waitUntil(`${wanted} on the clipboard`, async () => {
    const text = await page.evaluate<string>('navigator.clipboard.readText()');
    return (typeof wanted === 'string' ? text === wanted : wanted.test(text)) && text;
  });

export async function requestScope({ visit, page }: Visitor, path: string, purpose: string): Promise<void> {
  await visit(`${path}/scope`);
  await page.getByLabel('Purpose').fill(purpose);
  await page.getByRole('button', { name: 'Request scope' }).click();
  await page.locator('.app-page').getByText('Scope requested').waitFor();
}

/** Approves the scope of an app on the page of a signed-in operator. */
export async function approveScope({ visit, page }: Visitor, name: string): Promise<void> {
  await visit('/operator');
  await page.getByRole('button', { name: `Approve ${name}`, exact: true }).click();
  await page.getByText(`${name} approved`).waitFor();
}
