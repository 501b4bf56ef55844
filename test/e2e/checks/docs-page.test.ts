import { TOPICS } from '../../../services/gateway/docs/site.ts';
import { expectNoBarrier } from '../../support/browser/expect-no-barrier.ts';
import { openBrowser, type TestBrowser } from '../../support/browser/open-browser.ts';
import { API_KEY, type FakeGateway, startFakeGateway } from '../../support/fakes/fake-gateway.ts';
import { waitUntilPasses } from '../../support/wait-until.ts';

/** The documentation in a browser: wide and light, narrow and dark. */

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

test('no page overflows or fails an accessibility check', async () => {
  await using reader = await browser.open(gateway.url);
  for (const { slug } of TOPICS) {
    await reader.visit(`/docs/${slug}`);
    await expectNoBarrier(reader, slug);
  }
  expect(reader.faults).toEqual([]);
});

test('the samples contain the address of the page and the key that the reader entered', async () => {
  await using reader = await browser.open(gateway.url);
  await reader.visit('/docs');
  const first = reader.page.locator('pre.code').first();
  const expectFirst = (text: string) =>
    waitUntilPasses(async () => expect(await first.textContent()).toContain(text));
  await expectFirst(`ROLECALL_URL=${gateway.url}\n`);
  await reader.page.getByLabel('Your API key').fill(API_KEY);
  await expectFirst(API_KEY);
  await reader.visit('/docs/reference');
  await expectFirst(`${gateway.url}/access-control`);
  await expectFirst(API_KEY);
});

test('a chosen language applies to every sample of the page and of the next page', async () => {
  await using reader = await browser.open(gateway.url);
  await reader.visit('/docs/quickstart');
  await reader.tabTo('tab', 'curl');
  await reader.page.keyboard.press('ArrowRight');
  for (const slug of ['quickstart', 'checks']) {
    await reader.visit(`/docs/${slug}`);
    const selected = reader.page.locator('[role=tab][aria-selected=true]');
    await waitUntilPasses(async () =>
      expect(new Set(await selected.allTextContents())).toEqual(new Set(['TypeScript'])),
    );
  }
});

test('the search finds a section using only the keyboard', async () => {
  await using reader = await browser.open(gateway.url);
  await reader.visit('/docs');
  await reader.page.keyboard.press('/');
  await reader.page.keyboard.type('mass revocation');
  await reader.tabTo('link', /Mass revocation/);
  await reader.page.keyboard.press('Enter');
  await reader.page.waitForURL('**/docs/watches#mass-revocation');
});
