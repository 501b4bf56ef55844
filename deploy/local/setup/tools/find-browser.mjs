import { spawnSync } from 'node:child_process';
import { findOnPath, isProgram } from './find-program.mjs';

/** The headless shell needs the least CPU. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'google-chrome-stable',
  'google-chrome',
  'chromium-browser',
  'chrome',
];
const MAC_PROGRAMS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];
/** Some distributions put a script there that only tells how to install the browser. */
const VERSION_TIMEOUT_MS = 20_000;

/** A Chromium or Chrome that starts: that of `CHROME_PATH`, else the first on the PATH. */
export function findBrowser(env = process.env) {
  const candidates = env.CHROME_PATH ? [env.CHROME_PATH] : [...NAMES.map(findOnPath), ...MAC_PROGRAMS];
  return candidates.find((file) => file && isProgram(file) && saysItsVersion(file));
}

function saysItsVersion(file) {
  const { status, stdout } = spawnSync(file, ['--version'], {
    encoding: 'utf8',
    timeout: VERSION_TIMEOUT_MS,
  });
  return status === 0 && /Chrom/.test(stdout);
}
