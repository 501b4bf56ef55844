/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Balances of a watch's members change, and a developer finds the sent events of each member in a
// real browser.
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import type { Visitor } from '../../support/browser/open-browser.ts';
import type { MadeApp } from '../../support/browser/portal-steps.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

const { system, open, newDeveloper, approvedApp } = usePortal();

/** More than a page of events. */
const COUNT = 30;
const HARM = '<img/src=x/onerror=alert(1)>';
const MEMBERS = Array.from({ length: COUNT }, (_, i) => ({
  account: `0x${(0xeee000 + i).toString(16).padStart(40, '2')}`,
  ref: i === 0 ? HARM : `m${i}`,
}));
const [harm = { account: '' }, lost = { account: '' }] = MEMBERS;

let dev: Visitor;
let app: MadeApp;
let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await system.use(receiveWebhooks());
  dev = await system.use(open());
  const developer = await newDeveloper(dev);
  app = await approvedApp(developer, 'Guild');
  for (const { account } of MEMBERS.slice(0, 3)) await setCoins(account, 1);
  const { chainId } = system.chain;
  await call('PUT', '/access-control/rule-sets/funded', {
    rules: [{ type: 'NATIVE', chainId, minToken: '1', roleId: 'funded' }],
  });
  await call('PUT', `${WATCHES_PATH}/guild`, {
    ruleSet: 'funded',
    callbackUrl: receiver.url,
    everySeconds: 604_800,
    massRevocation: { share: 0.5, atLeast: 2 },
  });
  await call('POST', `${WATCHES_PATH}/guild/members`, { add: MEMBERS });
  await waitForEvents(COUNT);
});

const setCoins = (account: string, coins: number) =>
  callJsonRpc(system.chain.rpc, 'anvil_setBalance', [
    account,
    `0x${(BigInt(coins) * 10n ** 18n).toString(16)}`,
  ]);

const call = (method: string, path: string, body?: unknown) =>
  system.clientOf(app.apiKey).mustSend(method, path, body);

const waitForEvents = (count: number) =>
  waitUntil(`${count} events`, async () => new Set(receiver.deliveries.map(({ id }) => id)).size >= count);

const events = () => dev.page.getByRole('list', { name: 'Events' }).getByRole('listitem');
/** The texts of a row from top to bottom. */
const textsOf = async (place: number) => {
  const text = (await events().allInnerTexts())[place] ?? '';
  return text.split('\n').flatMap((line) => line.trim() || []);
};

/** Loads the watch anew until its rows are as expected: the view knows of an event a moment after
 * its receiver. While the page refreshes it shows the old rows, and what is done then is undone. */
const expectRows = (assert: () => Promise<void>) =>
  waitUntilPasses(async () => {
    await dev.visit(`${app.path}/watches/guild`);
    await events().first().waitFor();
    await assert();
  });

test('the events of a watch are listed in pages, newest first, and lead to their deliveries', async () => {
  const { page } = dev;
  await expectRows(async () => expect(await events().count()).toBe(25));
  await page.getByRole('button', { name: 'Show more' }).click();
  await waitUntilPasses(async () => expect(await events().count()).toBe(COUNT));
  expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
  const rows = await events().allTextContents();
  expect(rows.filter((row) => row.includes('Gained funded'))).toHaveLength(3);
  expect(rows.filter((row) => row.includes('Without funded'))).toHaveLength(COUNT - 3);
  await expectNoBarrier(dev, 'the events of a watch');

  await setCoins(lost.account, 0);
  await call('POST', `${WATCHES_PATH}/guild/check`);
  await waitForEvents(COUNT + 1);
  await expectRows(async () =>
    expect((await textsOf(0)).slice(0, 5)).toEqual([
      'm1',
      lost.account,
      'Lost funded',
      'Sequence 2',
      'Sweep',
    ]),
  );
  expect((await textsOf(0)).at(-1)).toMatch(/^Delivery (Pending|Delivered)$/);
  await events().first().getByRole('link', { name: 'Delivery' }).click();
  await page.getByRole('heading', { name: 'Delivery', exact: true }).waitFor();
  await page.getByText('roles.changed').first().waitFor();
});

test('the events of one member are listed when it is chosen, and the choice is in the address', async () => {
  const { page, visit } = dev;
  await visit(`${app.path}/watches/guild`);
  await page
    .getByRole('region', { name: 'Members' })
    .getByRole('link', { name: '2 of m1', exact: true })
    .click();
  await waitUntilPasses(async () => expect(await events().count()).toBe(2));
  expect((await textsOf(0)).slice(2, 5)).toEqual(['Lost funded', 'Sequence 2', 'Sweep']);
  expect((await textsOf(1)).slice(2, 5)).toEqual(['Gained funded', 'Sequence 1', 'First check']);
  await expectNoBarrier(dev, 'the events of a member');
  await page.reload();
  await waitUntilPasses(async () => expect(await events().count()).toBe(2));
  expect(await page.getByRole('textbox', { name: 'Member' }).inputValue()).toBe('m1');
  // A ref is the client's text: it is shown as text.
  await page.getByRole('textbox', { name: 'Member' }).fill(HARM);
  await page.getByRole('textbox', { name: 'Member' }).press('Tab');
  await waitUntilPasses(async () => expect((await textsOf(0)).slice(0, 2)).toEqual([HARM, harm.account]));
  await page.getByRole('textbox', { name: 'Member' }).fill('nobody');
  await page.getByRole('textbox', { name: 'Member' }).press('Tab');
  await page.getByText('This watch has no such member').waitFor();
  await expectNoBarrier(dev, 'a member that there is not');
  await page.getByRole('button', { name: 'All members' }).click();
  await waitUntilPasses(async () => expect(await events().count()).toBe(25));
  expect(dev.faults).toEqual([]);
});

test('who would gain and who would lose a role is shown by name, and why, before changed rules are stored', async () => {
  const { page, visit } = dev;
  const { chainId } = system.chain;
  await visit(`${app.path}/rule-sets/funded`);
  await page.getByLabel('API key').fill(app.apiKey);
  const write = (rule: object) =>
    page
      .getByLabel('Rule set as JSON')
      .fill(JSON.stringify({ rules: [{ type: 'NATIVE', roleId: 'funded', ...rule }] }));
  await write({ chainId: 999, minToken: '2' });
  await page.getByText(`It costs ${COUNT} checks`).waitFor();
  await page.getByRole('button', { name: 'Show the changes' }).click();
  await page.getByText('names chain 999').waitFor();
  await write({ chainId, minToken: '0', maxToken: '0.5' });
  await page.getByRole('button', { name: 'Show the changes' }).click();
  const changes = page.getByRole('region', { name: 'Changes' });
  await changes.waitFor();
  expect(await changes.locator('tbody tr').allTextContents()).toEqual(['funded2820']);
  const entriesOf = (title: string) =>
    page.locator('section.card', { has: page.getByRole('heading', { name: title, exact: true }) }).last();
  const losing = entriesOf('Would lose a role').getByRole('listitem');
  const first = losing.filter({ hasText: 'm2' }).first();
  await first.getByText('holds 1; at most 0.5 allowed, at block').waitFor();
  await first.getByText('loses funded').waitFor();
  await losing.filter({ hasText: HARM }).first().waitFor();
  const gaining = entriesOf('Would gain a role');
  await gaining.getByRole('button', { name: 'Show more' }).click();
  await waitUntilPasses(async () => expect(await gaining.getByText('gains funded').count()).toBe(28));
  await expectNoBarrier(dev, 'the preview of changed rules');
  await page.getByRole('link', { name: 'Open this preview' }).click();
  await page.getByRole('heading', { name: 'What would change' }).waitFor();
  await expectNoBarrier(dev, 'the batch of a preview');
  // Nothing was stored, and nobody was told anything.
  await visit(`${app.path}/watches/guild`);
  await page.getByRole('region', { name: 'Members' }).getByText('funded: granted').first().waitFor();
  expect(new Set(receiver.deliveries.map(({ id }) => id)).size).toBe(COUNT + 1);
  expect(dev.faults).toEqual([]);
});

test('held revocations are among the events, and their release sends them', async () => {
  const { page } = dev;
  for (const { account } of MEMBERS.slice(0, 3)) await setCoins(account, 0);
  await call('POST', `${WATCHES_PATH}/guild/check`);
  await waitForEvents(COUNT + 2);
  await expectRows(async () =>
    expect((await textsOf(0)).slice(0, 2)).toEqual(['watch.held', '2 of 2 would lose funded']),
  );
  await expectNoBarrier(dev, 'a watch with held revocations');
  await page.getByRole('button', { name: 'Release…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
  await waitForEvents(COUNT + 4);
  await expectRows(async () =>
    expect((await textsOf(0)).slice(2, 5)).toEqual(['Lost funded', 'Sequence 2', 'Release']),
  );
  expect(dev.faults).toEqual([]);
});
