const BROWSER_CHARS_MAX = 60;

/** The first match counts: most browsers name others too. */
const BROWSERS = [
  [/\bEdgA?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const;
const SYSTEMS = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const;

/**
 * Names a browser by the `User-Agent` header. An unknown one is named by the printable ASCII of the
 * header, at most 60 characters: the caller writes that text.
 *
 * @example
 * describeBrowser('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'); // 'Firefox on Linux'
 * describeBrowser('curl/8.14.1'); // 'curl/8.14.1'
 */
export function describeBrowser(userAgent = ''): string {
  const [, browser] = BROWSERS.find(([pattern]) => pattern.test(userAgent)) ?? [];
  const [, system] = SYSTEMS.find(([pattern]) => pattern.test(userAgent)) ?? [];
  if (browser) return system ? `${browser} on ${system}` : browser;
  const text = userAgent
    .slice(0, BROWSER_CHARS_MAX)
    .replace(/[^\x20-\x7e]/g, '')
    .trim();
  return text === '' ? 'Unknown browser' : text;
}
