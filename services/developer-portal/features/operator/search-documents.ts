import type { DocumentScan } from '#shared/stores/documents/versioned-documents.ts';

/** A page ends after the step that reaches this many hits. */
const FOUND_COUNT = 100;
/** Steps of one page, of about 100 documents each. */
const STEPS_MAX = 50;

type SearchPage<D> = {
  /** In no order. */
  readonly found: readonly D[];
  /** The cursor of the next page. A page may have found nothing and still have it. */
  readonly next: string | undefined;
};

/**
 * Looks through all documents of a kind, about 5 000 of them for one page. A document that is there
 * all the time is found; one may be found on two pages.
 *
 * @param after the cursor of the page; '0' for the first one
 *
 * @example
 * const { found, next } = await searchDocuments(accounts.scan, ({ email }) => email.includes('@example.com'), '0');
 */
export async function searchDocuments<D>(
  scan: DocumentScan<D>,
  isWanted: (document: D) => boolean,
  after: string,
): Promise<SearchPage<D>> {
  const found: D[] = [];
  let next: string | undefined = after;
  for (let steps = 0; next !== undefined && steps < STEPS_MAX && found.length < FOUND_COUNT; steps++) {
    const step: Awaited<ReturnType<DocumentScan<D>>> = await scan(next);
    found.push(...step.documents.filter(isWanted));
    next = step.cursor;
  }
  return { found, next };
}
