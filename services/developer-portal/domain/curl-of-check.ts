/** In a shell's single quotes nothing is special but their end. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const KEY = `-H "x-api-key: $ROLECALL_API_KEY"`;

/**
 * A check as a command for a terminal. The key is a variable there.
 *
 * @example
 * curlOfCheck('https://api.example.com/access-control/check-roles', '{"account":"0x…"}');
 */
export const curlOfCheck = (url: string, json: string): string =>
  [`curl -s ${quoted(url)}`, KEY, `-H 'content-type: application/json'`, `-d ${quoted(json)}`].join(' ');

/** A poll as a command for a terminal, that waits for the result for some seconds. */
export const curlOfPoll = (url: string): string =>
  [`curl -s ${quoted(url)}`, KEY, `-H 'prefer: wait=5'`].join(' ');
