import { describeBrowser } from './describe-browser.ts';

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36',
    'Chrome on Android',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 (KHTML, like Gecko) Version/18.0 Safari/604.1',
    'Safari on iOS',
  ],
  ['curl/8.14.1', 'curl/8.14.1'],
  [`\u0000\u00ff${'x'.repeat(500)}`, 'x'.repeat(58)],
  ['', 'Unknown browser'],
  [undefined, 'Unknown browser'],
])('the user agent %j is named %j', (userAgent, name) => {
  expect(describeBrowser(userAgent)).toBe(name);
});
