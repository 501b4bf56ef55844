import { type Cidr, refuseCallbackHost } from './callback-address.ts';

/** Addresses that the operator allows beyond public https addresses. */
export type CallbackPolicy = { readonly allowHttp: boolean; readonly allowedCidrs: readonly Cidr[] };

/** The fault of a URL: not an absolute URL, or an address to which no webhook is sent. */
type CallbackFault = {
  readonly code: 'malformed' | 'callback-url-refused';
  /** A sentence for its writer. */
  readonly detail: string;
};

/** The ports that the WHATWG fetch standard blocks ("port blocking", read in November 2026). */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** An `@` in the authority, also with nothing before it, which the URL parser drops. */
const USER_INFO = /^[^:]*:[\\/]*[^\\/?#]*@/;
/** The URL parser strips these; a URL that holds one is not the URL that its writer meant. */
const BLANK = /[\u0000-\u0020\u007f]/;

/**
 * Judges a callback URL without DNS.
 *
 * @returns the URL as the WHATWG standard writes it, or its fault: `malformed` if it is not an
 *   absolute URL, or longer than 8 192 characters when written so, otherwise
 *   `callback-url-refused`.
 * @example
 * judgeCallbackUrl('https://hooks.example.com/x', { allowHttp: false, allowedCidrs: [] });
 * // { href: 'https://hooks.example.com/x' }
 */
export function judgeCallbackUrl(
  text: string,
  policy: CallbackPolicy,
): { readonly href: string } | { readonly fault: CallbackFault } {
  const url = BLANK.test(text) ? null : URL.parse(text);
  if (url === null) return { fault: { code: 'malformed', detail: `${NOT_ABSOLUTE} ${SUCH_AS}` } };
  const reasons = refusalsOf(url, text, policy);
  if (url.href.length > HREF_LENGTH_MAX) return { fault: { code: 'malformed', detail: TOO_LONG } };
  if (reasons.length === 0) return { href: url.href };
  return { fault: { code: 'callback-url-refused', detail: reasons.join(' ') } };
}

/** An encoded character has up to twelve. */
const HREF_LENGTH_MAX = 8_192;
const TOO_LONG = `With its characters encoded, the URL must have at most ${HREF_LENGTH_MAX} characters.`;
const NOT_ABSOLUTE = 'This is not an absolute URL.';
const HOSTS_ALLOWED = 'It must be reachable from the public internet.';
const SUCH_AS = 'Write it like https://example.com/hooks.';

/** Every fault, so that the client can fix all of them at once. */
function refusalsOf(url: URL, text: string, { allowHttp, allowedCidrs }: CallbackPolicy): string[] {
  // Of `localhost:3000/hook` the URL parser takes "localhost" for the scheme; its other parts mean
  // nothing then.
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    const schemes = allowHttp ? 'https:// or http://' : 'https://';
    return [`The URL must begin with ${schemes}, not with "${url.protocol}".`];
  }
  const host = refuseCallbackHost(url.hostname, allowedCidrs);
  return [
    url.protocol === 'http:' && !allowHttp && 'The scheme must be https, not http.',
    (USER_INFO.test(text) || url.username !== '' || url.password !== '') && 'User info is not allowed.',
    text.includes('#') && 'A fragment is not allowed.',
    url.port !== '' && BLOCKED_PORTS.has(Number(url.port)) && `Port ${url.port} is not allowed.`,
    host !== undefined && `The host is refused: ${host}. ${HOSTS_ALLOWED}`,
  ].filter((reason) => reason !== false);
}
