import type { IncomingHttpHeaders } from 'node:http';
import type { Fault } from '#shared/contracts/fault.ts';

/** The preconditions of a write (RFC 9110, section 13): entity tags as they were sent, or `*`
 * alone. */
export type Preconditions = {
  readonly ifMatch?: readonly string[] | undefined;
  readonly ifNoneMatch?: readonly string[] | undefined;
};

export const etagOf = (version: number): string => `"${version}"`;

const TAG = /(?:W\/)?"[\u0021\u0023-\u007e\u0080-\u00ff]*"/;
const TAG_LIST = new RegExp(`^${TAG.source}(?:[ \\t]*,[ \\t]*${TAG.source})*$`);
const TAGS = new RegExp(TAG.source, 'g');

/**
 * The entity tags of an `If-Match` or `If-None-Match` header; nothing if it is malformed.
 *
 * @example
 * parseEntityTags('"3", "4"'); // ['"3"', '"4"']
 */
export function parseEntityTags(header: string): readonly string[] | undefined {
  const text = header.trim();
  if (text === '*') return ['*'];
  return TAG_LIST.test(text) ? (text.match(TAGS) ?? []) : undefined;
}

/**
 * Whether a write may continue at the current version; `undefined` if there is none.
 *
 * @example
 * meetsPreconditions({ ifMatch: ['"3"'] }, 4); // false
 */
export function meetsPreconditions(
  { ifMatch, ifNoneMatch }: Preconditions,
  version: number | undefined,
): boolean {
  const isNamed = (tags: readonly string[], tag: string) =>
    version !== undefined && (tags.includes('*') || tags.includes(tag));
  const tag = version === undefined ? '' : etagOf(version);
  if (ifMatch && !isNamed(ifMatch, tag)) return false;
  // A weak tag is one of the same version here, and never for `If-Match`, which compares strongly.
  return !(
    ifNoneMatch &&
    isNamed(
      ifNoneMatch.map((each) => each.replace(/^W\//, '')),
      tag,
    )
  );
}

/**
 * The preconditions of a request, and the faults of their headers.
 *
 * @example
 * parsePreconditions({ 'if-match': '"3"' }).preconditions; // { ifMatch: ['"3"'], ifNoneMatch: undefined }
 */
export function parsePreconditions(headers: IncomingHttpHeaders): {
  readonly preconditions: Preconditions;
  readonly faults: Fault[];
} {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  const ifMatch = match === undefined ? undefined : parseEntityTags(match);
  const ifNoneMatch = noneMatch === undefined ? undefined : parseEntityTags(noneMatch);
  const faults = [
    ...(match !== undefined && !ifMatch ? [malformed('If-Match')] : []),
    ...(noneMatch !== undefined && !ifNoneMatch ? [malformed('If-None-Match')] : []),
  ];
  return { preconditions: { ifMatch, ifNoneMatch }, faults };
}

const malformed = (name: string): Fault => ({
  pointer: '',
  code: 'precondition-malformed',
  detail: `The ${name} header must be entity tags such as "3", in their quotes, or *.`,
});
