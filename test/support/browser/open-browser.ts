import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { loadToolchain } from '../../../deploy/local/infrastructure/toolchain.ts';
import { waitUntil } from '../wait-until.ts';

const STEP_TIMEOUT_MS = 120_000;
/** The browser aborts its requests when a network interface of the machine comes or goes. */
const VISIT_TRIES_MAX = 4;
const DRAWN_TIMEOUT_MS = 30_000;

export type AxeViolation = {
  readonly rule: string;
  readonly impact: string;
  readonly places: readonly string[];
};

export type Visitor = AsyncDisposable & {
  readonly page: Page;
  /** Goes to a path and waits until the page has a heading and has finished loading. */
  readonly visit: (path: string) => Promise<void>;
  /** Everything that a page must never cause: dialogs, uncaught errors, violations of the content
   * policy. */
  readonly faults: readonly string[];
  /** The findings of axe-core on the current page. */
  readonly findBarriers: () => Promise<readonly AxeViolation[]>;
  /** How many pixels wider the page is than its window. */
  readonly overflowPx: () => Promise<number>;
  /** Presses Tab until the element with this name has the focus. */
  readonly tabTo: (role: string, name: string | RegExp) => Promise<void>;
};

export type TestBrowser = AsyncDisposable & {
  /** A person with their own browser profile. */
  readonly open: (base: string, options?: BrowserContextOptions) => Promise<Visitor>;
};

/**
 * Starts the headless Chromium that set-up found.
 *
 * @example
 * await using browser = await openBrowser();
 * await using ada = await browser.open(system.ready.portal);
 * await ada.visit('/sign-up');
 */
export async function openBrowser(): Promise<TestBrowser> {
  const executablePath = process.env['CHROME_PATH'] || loadToolchain().browser;
  if (!executablePath) throw new Error('no browser: run `node deploy/local/setup.mjs --with-browser`');
  const browser = await chromium.launch({ executablePath });
  return {
    open: (base, options) => openVisitor(browser, base, options),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function openVisitor(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: base, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: base });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) faults.push(message.text());
  });
  return {
    page,
    faults,
    visit: (path) => visit(page, path),
    findBarriers: () => findBarriers(page),
    overflowPx: () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'),
    tabTo: (role, name) => tabTo(page, role, name),
    [Symbol.asyncDispose]: () => context.close(),
  };
}

async function visit(page: Page, path: string): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor({ timeout: DRAWN_TIMEOUT_MS });
      await page.locator('.skeleton').first().waitFor({ state: 'detached', timeout: DRAWN_TIMEOUT_MS });
      return;
    } catch (error) {
      if (tries >= VISIT_TRIES_MAX) throw error;
    }
}

/** The policy forbids foreign scripts, so axe is injected through the debugger. */
async function findBarriers(page: Page): Promise<AxeViolation[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source);
  const found = await page.evaluate<{
    violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
  }>(`axe.run(document, { resultTypes: ['violations'] })`);
  return found.violations.map(({ id, impact, nodes }) => ({
    rule: id,
    impact,
    places: nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`),
  }));
}

/** Whether an element has the focus. */
const isFocused = (element: Locator): Promise<boolean> =>
  element.evaluate(
    (node: { ownerDocument: { activeElement: unknown } }) => node === node.ownerDocument.activeElement,
  );

/** Waits until an element has the focus: the page moves it after rendering. */
export const waitForFocus = (element: Locator): Promise<true> =>
  waitUntil(`the focus to reach ${element}`, async () => (await isFocused(element)) || undefined);

/** Whether an element still has the focus after the page's own work after drawing, which may move
 * the focus. */
async function keepsFocus(page: Page, element: Locator): Promise<boolean> {
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
  return isFocused(element);
}

/** More tab stops than any page of the portal has. */
const STOPS_MAX = 80;

async function tabTo(page: Page, role: string, name: string | RegExp): Promise<void> {
  const wanted = page.getByRole(role as Parameters<Page['getByRole']>[0], { name }).first();
  await wanted.waitFor();
  for (let stops = 0; stops < STOPS_MAX; stops++) {
    if ((await isFocused(wanted)) && (await keepsFocus(page, wanted))) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the focus never reached the ${role} ${name}`);
}
