import type { Fault } from '#shared/contracts/fault.ts';

export const PAGE_COUNT_MAX = 200;
export const PAGE_COUNT_DEFAULT = 50;

/** The part of a list that a query asks for. */
export type Page = { readonly after?: string; readonly countMax: number };

/**
 * Reads `limit` and `after` of a list's query. An empty value counts as absent; other parameters
 * are ignored.
 *
 * @param isId whether a text may be an id of the list
 * @example
 * parsePage(new URLSearchParams('limit=10&after=a'), isId); // { page: { countMax: 10, after: 'a' }, faults: [] }
 */
export function parsePage(
  query: URLSearchParams,
  isId: (text: string) => boolean,
): { readonly page: Page; readonly faults: readonly Fault[] } {
  const limit = query.get('limit') || String(PAGE_COUNT_DEFAULT);
  const after = query.get('after') || undefined;
  const countMax = /^[0-9]{1,9}$/.test(limit) ? Number(limit) : 0;
  const faults: Fault[] = [];
  if (countMax < 1 || countMax > PAGE_COUNT_MAX)
    faults.push({
      pointer: '',
      code: 'out-of-range',
      detail: `The parameter limit must be a whole number from 1 to ${PAGE_COUNT_MAX}.`,
    });
  if (after !== undefined && !isId(after))
    faults.push({
      pointer: '',
      code: 'malformed',
      detail: 'The parameter after must be an id of this list.',
    });
  return { page: { countMax, ...(after === undefined ? {} : { after }) }, faults };
}
