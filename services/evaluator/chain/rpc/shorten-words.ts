import { isIP } from 'node:net';

/** Characters of an endpoint's words that are shown. */
const LENGTH_MAX = 160;
/** A run of this many letters and digits may be a key. */
const KEY_LENGTH_MIN = 20;
/** Shorter parts of a URL or a header are words such as `v1`, not keys. */
const SECRET_LENGTH_MIN = 6;

const KEYS = new RegExp(`[A-Za-z0-9_-]{${KEY_LENGTH_MIN},}`, 'g');
/** The first frame of a stack, of whatever language, and all that follows. */
const STACK =
  /(?:(?:\n|\\n)[ \t]+at |\bat (?:async |new )?\S+ ?\((?:<anonymous>|native|[^()]*[/\\.][^()]*:\d+\))|\bgoroutine \d+ \[|\bTraceback \(most recent|\bstack backtrace:).*/is;
const URLS = /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi;
const WINDOWS_PATHS = /\b[a-z]:\\[^\s"'()]+/gi;
/** A host without a dot, where a resolver or a socket names it. */
const UNREACHED =
  /\b(ECONN[A-Z]+|ENOTFOUND|EAI_[A-Z]+|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|(?:tcp|udp)[46]?|lookup) [^\s:]+(?::\d+)?(?=:|$| on )/g;
/** What has a meaning in a regular expression. */
const SYNTAX = /[\\^$.*+?()[\]{}|]/g;
const WORDS = /[^\s"'`()<>{}[\]|,;\\]+/g;

/**
 * Shortens what an endpoint said so that it can be shown: one line, at most 160 characters, without
 * addresses, host names, paths of files, stacks, keys and anything that its URL or headers hold.
 *
 * @param secrets parts of the endpoint's URL and headers; parts of fewer than 6 characters are kept
 *
 * @example
 * shortenWords('limit of key abc123xyz reached at node-3.internal:8545', ['abc123xyz']); // 'limit of key … reached at …'
 */
export function shortenWords(text: string, secrets: readonly string[]): string {
  // JSON inside of JSON escapes the slash.
  let shown = text.replaceAll('\\/', '/').replace(STACK, '…').replace(URLS, '…');
  // The longest first: a shorter one may be a part of it.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length))
    if (secret.length >= SECRET_LENGTH_MIN)
      shown = shown.replace(new RegExp(secret.replace(SYNTAX, '\\$&'), 'gi'), '…');
  shown = shown
    .replace(WINDOWS_PATHS, '…')
    .replace(UNREACHED, '$1 …')
    .replace(WORDS, withoutPlaces)
    .replace(KEYS, '…')
    .replace(/[\u0000-\u001f\u007f\s]+/g, ' ')
    .trim();
  return shown.length <= LENGTH_MAX ? shown : `${shown.slice(0, LENGTH_MAX - 1)}…`;
}

/** The word, or `…` and its punctuation if it names a host or a file; of `addr=10.0.0.1` the value. */
function withoutPlaces(word: string): string {
  const [, place = '', end = ''] = /^(.*?)([.:!?]*)$/s.exec(word) ?? [];
  if (isPlace(place) || isIP(word) === 6) return `…${end}`;
  return word.includes('=') ? word.replace(/[^=]+/g, withoutPlaces) : word;
}

const HOST_NAME = /^(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]*[a-z0-9]$/i;
/** `blocks.Please` and `params.fromBlock` are words, not hosts. */
const WORDS_WITH_DOT = /^[^.]+\.(?=.*[a-z])(?=.*[A-Z])[^.]+$/;
/** Such as `/srv/x.js`, `../x.js`, `~/x/y`. */
const PATH = /^(?:~|\.{1,2})?\/[^/]+[/.]/;
/** Such as `src/x.js:12:3`, `internal/queues:95:5`. */
const PATH_OF_FILE = /\/(?:[^/]*\.[a-z]{1,5}(?::\d+){0,2}|[^/]*:\d+:\d+)$/i;

/** Whether a word is an IP address or a host name, with its port, user and path, or a path. */
function isPlace(word: string): boolean {
  if (PATH.test(word) || PATH_OF_FILE.test(word)) return true;
  const [authority = ''] = word.split(/[/?#]/, 1);
  const address = authority.slice(authority.lastIndexOf('@') + 1);
  const host = address.replace(/(?::\d+){1,2}$/, '');
  if (isIP(address) > 0 || isIP(host) > 0 || /^localhost$/i.test(host)) return true;
  return HOST_NAME.test(host) && !WORDS_WITH_DOT.test(host);
}

/** The parts of URLs and of header values that may be secrets, as they are written and decoded. */
export const secretsOf = (urls: readonly URL[], headers: Readonly<Record<string, string>>): string[] => {
  const parts = [
    ...urls.flatMap((url) => [
      ...[url.host, url.hostname, url.username, url.password],
      ...url.pathname.split('/'),
      ...url.search.split(/[?&]/).map((pair) => pair.slice(pair.indexOf('=') + 1)),
      ...url.searchParams.values(),
    ]),
    ...Object.values(headers).flatMap((value) => [value, ...wordsOf(value)]),
  ];
  return [...new Set(parts.flatMap((part) => [part, decoded(part)]))].filter((part) => part !== '');
};

const SCHEME = /^(?:basic|bearer|digest|token|apikey)\s+/i;

/** The words of a header's value but for its scheme, and the user and the password of `Basic`. */
function wordsOf(value: string): string[] {
  const [scheme = ''] = SCHEME.exec(value) ?? [];
  const credentials = value.slice(scheme.length);
  const words = credentials.split(/[\s,;]+/).flatMap((word) => [word, ...word.split(/[=:"]+/)]);
  if (scheme.trim().toLowerCase() !== 'basic') return [credentials, ...words];
  const pair = Buffer.from(credentials, 'base64').toString();
  const colon = pair.indexOf(':');
  return [credentials, ...words, pair, pair.slice(0, Math.max(colon, 0)), pair.slice(colon + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
