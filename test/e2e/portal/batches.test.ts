/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// A developer starts a batch in a real browser, without a mouse, follows it and downloads its
// results.
import { readFileSync } from 'node:fs';
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import type { Visitor } from '../../support/browser/open-browser.ts';
import type { MadeApp } from '../../support/browser/portal-steps.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { waitUntilPasses } from '../../support/wait-until.ts';

const { system, open, newDeveloper, approvedApp } = usePortal();
const { holder, stranger } = system.chain;
let dev: Visitor;
let app: MadeApp;
beforeAll(async () => {
  dev = await system.use(open({ acceptDownloads: true }));
  const developer = await newDeveloper(dev);
  app = await approvedApp(developer, 'Community');
  // Nobody can read a balance at an address without a contract.
  const broken = { ...demoRules(system.chain).erc20(), contractAddress: stranger, roleId: 'broken' };
  const ruleSet = { rules: [demoRules(system.chain).erc20(), broken] };
  const stored = await developer.send('PUT', `/api/apps/${app.clientId}/rule-sets/holders`, { ruleSet });
  expect(stored.status).toBe(200);
});

/** The columns that are taken, as the two fields show them. */
const chosenColumns = () =>
  Promise.all(
    ['Column of the address', 'Column of your own id'].map((name) =>
      dev.page.getByRole('combobox', { name }).locator('option:checked').textContent(),
    ),
  );
/** The lines that will be sent, as the page shows them. */
const previewed = () =>
  dev.page.getByRole('region', { name: 'Will be sent' }).locator('li').allTextContents();

test('a developer pastes a list without a mouse, sees its lines validated before sending, and downloads the results', async () => {
  const { page, tabTo, visit } = dev;
  const { keyboard } = page;
  await visit(`${app.path}/batches`);
  await page.getByText('No batches').waitFor();
  await expectNoBarrier(dev, 'no batches');
  await tabTo('link', 'Start a batch');
  await keyboard.press('Enter');
  await tabTo('combobox', 'Rule set');
  await keyboard.type('holders');
  await tabTo('textbox', 'API key');
  await keyboard.type(app.apiKey);
  await tabTo('textbox', 'Addresses');
  await keyboard.insertText(`address,id\n${holder},=1+1\n${stranger},2\nvitalik.eth,3\n${stranger},2\n`);
  await page.getByText('Line 4: not an address').waitFor();
  await page.getByText('Line 5: repeats line 3').waitFor();
  await page.getByText('They cost 2 checks').waitFor();
  await tabTo('button', 'Start batch');
  await keyboard.press('Enter');
  await page.locator('.fault', { hasText: '1 line is not valid' }).waitFor();
  await expectNoBarrier(dev, 'a list with an invalid line');
  await tabTo('checkbox', 'Send without this line');
  await keyboard.press('Space');
  await tabTo('button', 'Start batch');
  await keyboard.press('Enter');
  await page.getByText('Completed').waitFor();
  await page.getByText('2 of 2 entries done').waitFor();
  const rows = page.locator('tbody tr');
  await waitUntilPasses(async () =>
    expect(await rows.allTextContents()).toEqual(['erc201 (50%)10', 'broken0 (0%)02']),
  );
  await page.getByText('There is no contract at this address').first().waitFor();
  await expectNoBarrier(dev, 'a finished batch');

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download CSV' }).click(),
  ]);
  const lines = readFileSync(await download.path(), 'utf8').split('\r\n');
  expect(lines[1]).toContain(`"0","'=1+1","${holder}","completed","granted","undetermined"`);
  expect(lines[2]).toContain('"denied","undetermined"');
  expect(dev.faults).toEqual([]);
});

test('a file is read like a pasted list, and its batch appears in the list of the app', async () => {
  const { page, visit } = dev;
  await visit(`${app.path}/batches/-new?ruleSet=holders`);
  await page.getByLabel('API key').fill(app.apiKey);
  await page.getByText('Choose a file').click();
  const buffer = Buffer.from(`\ufeffNr;Name;Wallet\r\n1;Ann;"${holder}"\r\n\r\n2;"Bob; jr";${stranger}\r\n`);
  await page
    .getByLabel('CSV or text file')
    .setInputFiles({ name: 'members.csv', mimeType: 'text/csv', buffer });
  await page.getByText('They cost 2 checks').waitFor();
  expect(await chosenColumns()).toEqual([`Wallet (${holder.slice(0, 12)}…)`, 'Name (Ann)']);
  expect(await previewed()).toEqual([`Line 2: ${holder}, Ann`, `Line 4: ${stranger}, Bob; jr`]);
  await expectNoBarrier(dev, 'a chosen file');
  await page.getByRole('button', { name: 'Start batch' }).click();
  await page.getByText('Completed').waitFor();
  await page.getByRole('link', { name: '← Batches' }).click();
  await page.locator('.rows > li').nth(1).waitFor();
  await expectNoBarrier(dev, 'the list of batches');
});

test('a list that does not tell its columns is asked about, shown as it will be sent, and sent so', async () => {
  const { page, tabTo, visit } = dev;
  const { keyboard } = page;
  await visit(`${app.path}/batches/-new?ruleSet=holders`);
  await page.getByLabel('API key').fill(app.apiKey);
  await page
    .getByRole('textbox', { name: 'Addresses' })
    .fill(`1,${stranger},${holder},100.5\n2,${holder},${stranger},7\n`);
  await page.getByText('Several columns have addresses').waitFor();
  expect(await previewed()).toEqual([]);
  await tabTo('button', 'Start batch');
  await keyboard.press('Enter');
  await page.getByText('Choose the column of the address.').waitFor();
  await page.getByText('Choose a column, or none.').waitFor();
  await expectNoBarrier(dev, 'a list whose columns are asked about');
  await tabTo('combobox', 'Column of the address');
  await keyboard.type('Column 3');
  await tabTo('combobox', 'Column of your own id');
  await keyboard.type('Column 1');
  await waitUntilPasses(async () =>
    expect(await previewed()).toEqual([`Line 1: ${holder}, 1`, `Line 2: ${stranger}, 2`]),
  );
  await expectNoBarrier(dev, 'a list whose columns were chosen');
  await page.getByRole('button', { name: 'Start batch' }).click();
  await page.getByText('Completed').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download CSV' }).click(),
  ]);
  const lines = readFileSync(await download.path(), 'utf8').split('\r\n');
  expect(lines[1]).toContain(`"0","1","${holder}"`);
  expect(lines[2]).toContain(`"1","2","${stranger}"`);
});

test('amounts beside the addresses are not sent', async () => {
  const { page, visit } = dev;
  await visit(`${app.path}/batches/-new?ruleSet=holders`);
  await page.getByRole('textbox', { name: 'Addresses' }).fill(`${holder} 100.5\n${stranger} 7\n`);
  await page.getByText('They cost 2 checks').waitFor();
  expect(await chosenColumns()).toEqual([`Column 1 (${holder.slice(0, 12)}…)`, 'None']);
  expect(await previewed()).toEqual([`Line 1: ${holder}`, `Line 2: ${stranger}`]);
});

test('a key of another app starts no batch, and the fault appears beside its field', async () => {
  const { page, visit } = dev;
  await visit(`${app.path}/batches/-new?ruleSet=holders`);
  await page.getByLabel('API key').fill(system.ready.app.apiKey);
  await page.getByRole('textbox', { name: 'Addresses' }).fill(holder);
  await page.getByRole('button', { name: 'Start batch' }).click();
  await page.getByText('This is not a key of this app.').waitFor();
  expect(dev.faults).toEqual([]);
});
