/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// A developer tries checks in the portal's form, in a real browser, and reads the compared amounts.
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import { usePortal } from '../../support/browser/use-portal.ts';
import { sendCurl } from '../../support/systems/send-curl.ts';
import { waitUntilPasses } from '../../support/wait-until.ts';

const { system, open, newDeveloper, approvedApp } = usePortal();

test('the form builds a rule of rules and a call of a contract over two wallets, and shows the compared amounts', async () => {
  await using eli = await open();
  const { page } = eli;
  const developer = await newDeveloper(eli);
  const app = await approvedApp(developer, 'Rich');
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
  const why = page.locator('.why').first();
  for (const words of [
    'at least 1 of these',
    'holds 1,500.5 of 1,500.6 needed',
    'balanceOf says 1,500,500,000; at least 1,500,500,000 needed',
  ])
    await waitUntilPasses(async () => expect(await why.textContent()).toContain(words));
  await expectNoBarrier(eli, 'a check of rules inside of rules');
});

test('the form tries a check on a configured chain, with the demo wallets and the key that was just made', async () => {
  await using ida = await open();
  const { page } = ida;
  const developer = await newDeveloper(ida);
  const app = await approvedApp(developer, 'Tryout');
  await ida.visit(`${app.path}/try`);
  const chains = page.getByLabel('Chain').locator('option');
  await waitUntilPasses(async () => expect(await chains.allTextContents()).toEqual(['Demo chain (31337)']));
  await page.getByLabel('API key').fill(app.apiKey);
  await page.getByLabel('Wallet').fill(system.chain.holder);
  await page.getByRole('textbox', { name: 'Contract' }).fill('0x12');
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.locator('.rule .fault').waitFor();
  const verdicts = page.locator('.verdicts > li');
  const expectVerdicts = (texts: readonly string[]) =>
    waitUntilPasses(async () => expect(await verdicts.allTextContents()).toEqual(texts));
  for (const [button, verdict] of [
    ['Three tokens, held', 'granted'],
    ['Three tokens, not held', 'denied'],
  ] as const) {
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('button', { name: 'Run check' }).click();
    const roles = ['holder', 'collector', 'player'];
    await expectVerdicts(roles.map((role) => role + verdict));
  }
  const curl = await page.getByLabel('Request as curl').textContent();
  expect(curl).toContain(system.chain.erc20);
  expect(curl).not.toContain(app.apiKey);
  expect((await sendCurl(String(curl), { ROLECALL_API_KEY: app.apiKey })).status).toBe(200);

  // Two rules of one role are one verdict, and the page says in words which role could not be read.
  await page.getByLabel('Role id').nth(1).fill('holder');
  await page.getByRole('textbox', { name: 'Contract' }).nth(2).fill(system.chain.holder);
  await page.getByRole('button', { name: 'Run check' }).click();
  const unread = page.getByRole('listitem').filter({ hasText: 'Rule 3, role player' });
  await unread.getByText('There is no contract at this address.').waitFor();
  await expectVerdicts(['playerundetermined', 'holderdenied']);
});

test('a message proves the wallet of a check, signed by a wallet of the browser or elsewhere', async () => {
  await using zoe = await open();
  const { page } = zoe;
  const developer = await newDeveloper(zoe);
  const app = await approvedApp(developer, 'Gate');
  const { holder, rpc } = system.chain;
  const sign = (params: readonly unknown[]) => callJsonRpc<string>(rpc, 'personal_sign', params);
  await page.exposeFunction('askWallet', async (method: string, params: readonly string[]) =>
    method === 'personal_sign' ? sign(params) : [holder],
  );
  await page.addInitScript(
    'window.ethereum = { request: ({ method, params }) => window.askWallet(method, params) };',
  );
  await zoe.visit(`${app.path}/try`);
  await page.getByLabel('API key').fill(app.apiKey);
  await page.getByRole('button', { name: 'Three tokens, held' }).click();
  await page.getByText('Who presents the wallet').click();
  await page.getByRole('link', { name: 'name them first' }).click();
  await page.getByRole('textbox', { name: 'Domains' }).fill('shop.example');
  await page.getByRole('button', { name: 'Save domains' }).click();
  await page.getByText('Domains saved').waitFor();

  await zoe.visit(`${app.path}/try`);
  await page.getByLabel('API key').fill(app.apiKey);
  await page.getByRole('button', { name: 'Three tokens, held' }).click();
  const compose = page.getByRole('button', { name: /^Make a message for/ });
  await page.getByText('Who presents the wallet').click();
  await compose.click();
  await expectNoBarrier(zoe, 'a message to sign');
  await page.getByRole('button', { name: 'Sign with the wallet of this browser' }).click();
  await page.getByText(`Signed by ${holder.toLowerCase()}`).waitFor();
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.getByText('is proved').waitFor();
  await page.locator('.verdicts', { hasText: 'granted' }).waitFor();
  const kept = Buffer.from(page.url().split('#check=')[1] ?? '', 'base64url').toString();
  expect(Object.keys(JSON.parse(kept))).toEqual(['account', 'explain', 'rules']);

  await page.getByRole('button', { name: 'Remove', exact: true }).last().click();
  await compose.click();
  const message = await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue();
  await page.getByLabel('Signature').fill(await sign([`0x${Buffer.from(message).toString('hex')}`, holder]));
  await page.getByRole('button', { name: 'Add the signature' }).click();
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.getByText('is proved').waitFor();
  // A message is for one check.
  await page.getByRole('button', { name: 'Run check' }).click();
  await page.locator('.json-faults', { hasText: 'nonce' }).waitFor();
  expect(zoe.faults).toEqual([]);
});
