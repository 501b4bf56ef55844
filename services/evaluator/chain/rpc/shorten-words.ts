/** Characters of an endpoint's words that are shown. */
const LENGTH_MAX = 160;
/** A run of this many letters and digits may be a key. */
const KEY_LENGTH_MIN = 20;
/** Shorter parts of a URL or a header are words such as `v1`, not keys. */
const SECRET_LENGTH_MIN = 6;

const URLS = /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi;
const KEYS = new RegExp(`[A-Za-z0-9_-]{${KEY_LENGTH_MIN},}`, 'g');

/**
 * Shortens what an endpoint said so that it can be shown: one line, at most 160 characters, without
 * addresses, keys and anything that its URL or headers hold.
 *
 * @param secrets parts of the endpoint's URL and headers; parts of fewer than 6 characters are kept
 *
 * @example
 * shortenWords('limit of key abc123xyz reached, see https://provider.example/up', ['abc123xyz']); // 'limit of key … reached, see …'
 */
export function shortenWords(text: string, secrets: readonly string[]): string {
  let shown = text.replace(URLS, '…');
  for (const secret of secrets) if (secret.length >= SECRET_LENGTH_MIN) shown = shown.replaceAll(secret, '…');
  shown = shown
    .replace(KEYS, '…')
    .replace(/[\u0000-\u001f\u007f\s]+/g, ' ')
    .trim();
  return shown.length <= LENGTH_MAX ? shown : `${shown.slice(0, LENGTH_MAX - 1)}…`;
}

/** The parts of a URL and of header values that may be secrets. */
export const secretsOf = (url: URL, headers: Readonly<Record<string, string>>): string[] => [
  url.hostname,
  url.username,
  url.password,
  ...url.pathname.split('/'),
  ...url.searchParams.values(),
  ...Object.values(headers),
];
