// Takes the screenshot of the README, on a system of its own: `npm run screenshots`.
import { fileURLToPath } from 'node:url';
import { fragmentOf } from '../services/developer-portal/page/features/try/check-address.ts';
import { openBrowser } from './support/browser/open-browser.ts';
import { approveApp, enterAs, makeApp } from './support/browser/portal-steps.ts';
import { startSystem } from './support/systems/start-system.ts';

const PICTURE = fileURLToPath(
  new URL('../services/developer-portal/screenshots/try-it.png', import.meta.url),
);
const WIDTH = 1280;
/** Taller than the picture. */
const WINDOW_HEIGHT = 1800;
const MARGIN = 10;

await using system = await startSystem();
await using browser = await openBrowser();
await using visitor = await browser.open(system.ready.portal, {
  viewport: { width: WIDTH, height: WINDOW_HEIGHT },
  colorScheme: 'light',
});
const { page, visit } = visitor;
const operator = await enterAs(visitor, system.ready.portal, system.ready.operator);
const app = await makeApp(operator, 'Guild hall');
await approveApp(operator, operator, app);

const { chainId, holder, erc20, erc721 } = system.chain;
const check = {
  account: holder,
  explain: true,
  rules: [
    {
      type: 'AT_LEAST',
      atLeast: 1,
      rules: [
        { type: 'ERC20', chainId, contractAddress: erc20, minToken: '1500.6' },
        { type: 'ERC721', chainId, contractAddress: erc721, tokenId: '1-3', minToken: '3' },
      ],
      roleId: 'member',
    },
  ],
};
await visit(`${app.path}/try${fragmentOf(check)}`);
await page.getByLabel('API key').fill(app.apiKey);
await page.getByRole('button', { name: 'Run check' }).click();
const explanation = page.locator('.why').first();
await explanation.waitFor();
// Below the key, which no picture shows, and down to the end of the explanation.
await page.evaluate(`document.querySelector('.panes').scrollIntoView(); scrollBy(0, ${-MARGIN})`);
const box = await explanation.boundingBox();
if (!box) throw new Error('the page shows no explanation');
const height = Math.ceil(box.y + box.height + MARGIN);
await page.screenshot({ path: PICTURE, clip: { x: 0, y: 0, width: WIDTH, height } });
process.stdout.write(`${PICTURE}: ${WIDTH} × ${height}\n`);
