import { execFileSync } from 'node:child_process';
import { openBrowser } from '../support/browser/open-browser.ts';
import { createApp, signIn } from '../support/browser/portal-steps.ts';
import { startSystem } from '../support/systems/start-system.ts';
import type { Table } from './row.ts';

/** An approval reaches every gateway within this time. */
const TRIES_MAX = 30;

/**
 * Measures how long a newcomer takes from `npm start` to the first verdict with their own key, by following the printed
 * instructions and the portal's quickstart: sign in, create an app, approve it, and run the sample unchanged.
 *
 * @throws Error if the sample returns no verdict
 */
export async function benchFirstVerdict(): Promise<Table> {
  const began = performance.now();
  await using system = await startSystem();
  const readyMs = performance.now() - began;
  await using browser = await openBrowser();
  await using newcomer = await browser.open(system.ready.portal);
  const { page } = newcomer;
  await signIn(newcomer, system.ready.operator);
  await createApp(newcomer, 'First app');
  await page.getByRole('button', { name: 'Approve this app' }).click();
  await page.getByText('This app may make checks.').waitFor();
  const sample = (await page.getByLabel('Sample', { exact: true }).textContent()) ?? '';
  const granted = runUntilGranted(sample);
  await page.getByText('Your first check has arrived').waitFor();
  const verdictMs = performance.now() - began;
  return {
    title: 'first verdict: npm start, then the portal’s quickstart, followed by a script',
    rows: [
      {
        what: 'start to the first verdict with a key of one’s own',
        measured: verdictMs / 1_000,
        unit: 's',
        against: { what: 'until the system is ready', measured: readyMs / 1_000 },
        goal: { of: 'value', max: 120 },
      },
    ],
    notes: [
      `the sample in curl, as the page shows it, answered ${granted}; the machine had everything installed`,
    ],
  };
}

/** Runs a command line, and repeats it while the approval has not reached every gateway. */
function runUntilGranted(sample: string): string {
  let answer = '';
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    answer = execFileSync('sh', ['-c', sample], { encoding: 'utf8' });
    if (answer.includes('"granted":true')) return '"granted":true';
  }
  throw new Error(`no verdict after ${TRIES_MAX} tries: ${answer}`);
}
