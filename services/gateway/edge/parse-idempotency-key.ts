/** 1 to 255 visible ASCII characters. */
const BARE = /^[\u0021-\u007e]{1,255}$/;
/** A string of RFC 9651: quoted, with `\"` and `\\`. */
const QUOTED = /^"((?:[\u0020\u0021\u0023-\u005b\u005d-\u007e]|\\["\\])*)"$/;

/**
 * The key of an `Idempotency-Key` header: a structured-field string and the same text bare are one key.
 *
 * @returns `undefined` for a malformed one.
 * @example
 * parseIdempotencyKey('"abc"') === parseIdempotencyKey('abc'); // true
 */
export function parseIdempotencyKey(header: string): string | undefined {
  const quoted = QUOTED.exec(header);
  const key = quoted ? (quoted[1] ?? '').replace(/\\(["\\])/g, '$1') : header;
  return BARE.test(key) ? key : undefined;
}
