import type { CallOptions, Transport } from './transport.ts';

/** Most entries that the gateway returns at once. */
const PAGE_ENTRIES = 200;
/** Bounds the loop; a list has far fewer pages. */
const PAGES_MAX = 100_000;

/**
 * Every entry of a list, page by page, read as it is used.
 *
 * @param name the member of an answer that holds the entries
 * @param filters further parameters of the list
 */
export async function* readPages<Entry>(
  transport: Transport,
  path: string,
  name: string,
  options: CallOptions,
  filters: Readonly<Record<string, string>> = {},
): AsyncGenerator<Entry, void> {
  let after: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const query = new URLSearchParams({
      ...filters,
      limit: String(PAGE_ENTRIES),
      ...(after === undefined ? {} : { after }),
    });
    const request = { method: 'GET', path: `${path}?${query}`, ...options } as const;
    const page = await transport.ask<Record<string, unknown>>(request, { [name]: 'list' });
    yield* page[name] as Entry[];
    if (typeof page['next'] !== 'string') return;
    after = page['next'];
  }
}
