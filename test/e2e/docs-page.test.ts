import { REFERENCE, TOPICS } from '../../services/gateway/docs/topics.ts';
import { API_KEY, type FakeGateway, startFakeGateway } from '../support/fake-gateway.ts';
import { openBrowser, type TestBrowser } from '../support/open-browser.ts';

/** The documentation as people see it: in a browser, at both widths, light and dark. */

const LOOKS = [
  { width: 360, height: 800, colorScheme: 'light' },
  { width: 360, height: 800, colorScheme: 'dark' },
  { width: 1280, height: 900, colorScheme: 'light' },
  { width: 1280, height: 900, colorScheme: 'dark' },
] as const;

let gateway: FakeGateway;
let browser: TestBrowser;

beforeAll(async () => {
  gateway = await startFakeGateway();
  browser = await openBrowser();
});

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await gateway?.[Symbol.asyncDispose]();
});

test('no page overflows or has a barrier, in any look', async () => {
  await using reader = await browser.open(gateway.url);
  for (const { slug } of [...TOPICS, REFERENCE]) {
    await reader.visit(`/docs/${slug}`);
    for (const { colorScheme, ...size } of LOOKS) {
      await reader.page.setViewportSize(size);
      await reader.page.emulateMedia({ colorScheme });
      const look = `${slug} at ${size.width} px, ${colorScheme}`;
      expect({ look, barriers: await reader.findBarriers() }).toEqual({ look, barriers: [] });
      expect({ look, overflowPx: await reader.overflowPx() }).toEqual({ look, overflowPx: 0 });
    }
  }
  expect(reader.faults).toEqual([]);
});

test('the samples hold the address of the page and the key that the reader entered', async () => {
  await using reader = await browser.open(gateway.url);
  await reader.visit('/docs');
  const first = reader.page.locator('pre.code').first();
  expect(await first.textContent()).toContain(`ROLECALL_URL=${gateway.url}\n`);
  await reader.page.getByLabel('Your API key').fill(API_KEY);
  expect(await first.textContent()).toContain(API_KEY);
  await reader.visit('/docs/reference');
  expect(await reader.page.locator('pre.code').first().textContent()).toContain(
    `${gateway.url}/access-control`,
  );
  expect(await reader.page.locator('pre.code').first().textContent()).toContain(API_KEY);
});

test('a chosen language is shown by every sample of the page and of the next page', async () => {
  await using reader = await browser.open(gateway.url);
  await reader.visit('/docs/quickstart');
  await reader.tabTo('tab', 'curl');
  await reader.page.keyboard.press('ArrowRight');
  for (const slug of ['quickstart', 'checks']) {
    await reader.visit(`/docs/${slug}`);
    const selected = await reader.page.locator('[role=tab][aria-selected=true]').allTextContents();
    expect(new Set(selected)).toEqual(new Set(['TypeScript']));
  }
});

test('the search finds a section by keyboard alone', async () => {
  await using reader = await browser.open(gateway.url);
  await reader.visit('/docs');
  await reader.page.keyboard.press('/');
  await reader.page.keyboard.type('mass revocation');
  await reader.tabTo('link', /Mass revocation/);
  await reader.page.keyboard.press('Enter');
  await reader.page.waitForURL('**/docs/watches#mass-revocation');
});
