/** One thing wrong with a request's body (or its headers, with the pointer `""`). */
export type Fault = {
  /** RFC 6901, into the body as the client sent it. */
  readonly pointer: string;
  /** A problem code where the contract names one, otherwise a word for the kind of fault. */
  readonly code: string;
  readonly detail: string;
};

/**
 * A JSON pointer of a path.
 *
 * @example
 * pointerOf(['rules', 0, 'a/b']); // '/rules/0/a~1b'
 */
export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
