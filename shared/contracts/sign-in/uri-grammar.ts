/* The parts of RFC 3986 that a sign-in message is made of, as sources of regular expressions. Each
 * alternative begins with another character, so a match takes linear time. */

const PERCENT = '%[0-9A-Fa-f]{2}';
/** Unreserved characters and sub-delims, inside of a character class. */
const NAME_CHARS = "A-Za-z0-9\\-._~!$&'()*+,;=";
const PCHAR = `(?:[${NAME_CHARS}:@]|${PERCENT})`;
const PATH_CHAR = `(?:[${NAME_CHARS}:@/]|${PERCENT})`;
const QUERY_CHAR = `(?:[${NAME_CHARS}:@/?]|${PERCENT})`;
const IP_LITERAL = `\\[(?:[0-9A-Fa-f:.]+|[vV][0-9A-Fa-f]+\\.[${NAME_CHARS}:]+)\\]`;

export const SCHEME = '[A-Za-z][A-Za-z0-9+\\-.]*';
export const AUTHORITY =
  `(?:(?:[${NAME_CHARS}:]|${PERCENT})*@)?` + `(?:${IP_LITERAL}|(?:[${NAME_CHARS}]|${PERCENT})*)(?::[0-9]*)?`;
/** `*pchar`. */
export const PCHARS = `${PCHAR}*`;

const URI = new RegExp(
  `^${SCHEME}:(?://(?<authority>${AUTHORITY})(?:/${PATH_CHAR}*)?|(?!//)${PATH_CHAR}*)` +
    `(?:\\?${QUERY_CHAR}*)?(?:#${QUERY_CHAR}*)?$`,
);

/** Whether the address within brackets is an IPv6 address, of an authority that has one. */
export function hasSoundAddress(authority: string): boolean {
  const literal = /\[([^\]v][^\]]*)\]/i.exec(authority)?.[1];
  return literal === undefined || URL.canParse(`http://[${literal}]/`);
}

/** Whether a text is a `URI` of RFC 3986. */
export function isUri(text: string): boolean {
  const match = URI.exec(text);
  return match !== null && hasSoundAddress(match.groups?.['authority'] ?? '');
}
