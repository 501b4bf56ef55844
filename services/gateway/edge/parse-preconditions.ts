import type { IncomingHttpHeaders } from 'node:http';
import type { Fault } from '#shared/contracts/fault.ts';
import { type Preconditions, parseEntityTags } from './preconditions.ts';

/**
 * The preconditions of a request, and the faults of their headers.
 *
 * @example
 * parsePreconditions({ 'if-match': '"3"' }).preconditions; // { ifMatch: ['"3"'], ifNoneMatch: undefined }
 */
export function parsePreconditions(headers: IncomingHttpHeaders): {
  readonly preconditions: Preconditions;
  readonly faults: readonly Fault[];
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
