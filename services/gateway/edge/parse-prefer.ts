/** The longest long poll: a client that asks for more gets this. */
export const WAIT_SECONDS_MAX = 25;

/** RFC 7240: the first occurrence of a preference counts; its value may be quoted. */
const WAIT = /^wait\s*=\s*(?:"([0-9]+)"|([0-9]+))$/i;

/**
 * The seconds of `Prefer: wait=N`, at most 25; 0 without it or where it is malformed, which is
 * ignored.
 *
 * @example
 * parsePreferWait('respond-async, wait=30'); // 25
 */
export function parsePreferWait(header: string | undefined): number {
  for (const preference of header?.split(',') ?? []) {
    const [name = ''] = preference.split(';');
    const match = WAIT.exec(name.trim());
    if (match) return Math.min(Number(match[1] ?? match[2]), WAIT_SECONDS_MAX);
  }
  return 0;
}
