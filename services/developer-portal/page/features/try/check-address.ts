/** A check with a longer text is not kept in the address: some programs cut long links. */
export const FRAGMENT_CHARS_MAX = 6_000;
const PREFIX = '#check=';
/** How every API key begins. */
const KEY = 'rck_';

/**
 * The fragment of the address that holds a check, which browsers send to no server.
 * @returns undefined if the check is too long, or holds an API key
 *
 * @example
 * checkOfFragment(fragmentOf({ account: '0x…' })); // { account: '0x…' }
 */
export function fragmentOf(check: object) {
  // A signature is for one check: nobody can use it again.
  const text = JSON.stringify({ ...check, signIn: undefined });
  if (text.includes(KEY)) return undefined;
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  const encoded = btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  return encoded.length > FRAGMENT_CHARS_MAX ? undefined : PREFIX + encoded;
}

/** The check in a fragment; undefined if there is none, or not a readable one. */
export function checkOfFragment(fragment: string) {
  if (!fragment.startsWith(PREFIX) || fragment.length > PREFIX.length + FRAGMENT_CHARS_MAX) return undefined;
  try {
    const bytes = atob(fragment.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/'));
    const text = new TextDecoder('utf-8', { fatal: true }).decode(
      Uint8Array.from(bytes, (char) => char.charCodeAt(0)),
    );
    const check = JSON.parse(text);
    return typeof check === 'object' && check !== null ? check : undefined;
  } catch {
    return undefined;
  }
}
