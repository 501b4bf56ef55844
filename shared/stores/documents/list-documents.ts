import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, REQUIRE_VIEW } from '#shared/redis/view.ts';
import { makeReadPage } from './read-page.ts';

/** KEYS: marker, set. ARGV: access. */
const LIST_IDS = `${REQUIRE_VIEW}
return redis.call('ZRANGE', KEYS[2], 0, -1)
`;

/** Documents of one page of a set. */
const PAGE_DOCUMENTS_MAX = 500;

/** A step through all documents: about `SCAN_COUNT` of them, and the cursor of the next step, if there is one. */
export type DocumentScan<D> = (
  cursor: string,
) => Promise<{ readonly documents: readonly D[]; readonly cursor: string | undefined }>;
/** Documents that a step reads. One has up to 300 kB, and a few hundred bytes as a rule. */
const SCAN_COUNT = 100;

/** Many documents of a view, never all of them in one reply of Redis. */
export type DocumentLists<D> = {
  /** What `select` returns for each document, in no order. Documents are read in steps, and may change meanwhile. */
  readonly list: <T>(select: (document: D) => T) => Promise<T[]>;
  /** The documents behind a cursor, in no order; see `searchDocuments`. */
  readonly scan: DocumentScan<D>;
  /** What `select` returns for each document whose id is in a set. Documents are read in pages. */
  readonly listSet: <T>(set: string, select: (document: D) => T) => Promise<T[]>;
};

type Options<D> = {
  /** Redis key of the documents. */
  readonly key: string;
  readonly open: (stored: string) => D;
  readonly idOf: (document: D) => string;
};

export function makeDocumentLists<D>(redis: Redis, { key, open, idOf }: Options<D>): DocumentLists<D> {
  const listIds = makeScript<string[]>(redis, LIST_IDS);
  const readPage = makeReadPage(redis);
  const scan: DocumentScan<D> = async (cursor) => {
    const [next, flat] = await inStore(
      () => redis.hscan(key, cursor, 'COUNT', SCAN_COUNT),
      LISTING_TIMEOUT_MS,
    );
    const documents = flat.flatMap((stored, i) => (i % 2 === 1 ? [open(stored)] : []));
    return { documents, cursor: next === '0' ? undefined : next };
  };
  return {
    async list<T>(select: (document: D) => T) {
      // By id: a step may return a document again.
      const selected = new Map<string, T>();
      let cursor: string | undefined = '0';
      while (cursor !== undefined) {
        const step: Awaited<ReturnType<DocumentScan<D>>> = await scan(cursor);
        for (const document of step.documents) selected.set(idOf(document), select(document));
        cursor = step.cursor;
      }
      return [...selected.values()];
    },
    scan,
    async listSet<T>(set: string, select: (document: D) => T) {
      const ids = await listIds([GENERATION_KEY, set], [ORDINARY_ACCESS]);
      const selected: T[] = [];
      for (let at = 0; at < ids.length; ) {
        const texts = await readPage([key], ids.slice(at, at + PAGE_DOCUMENTS_MAX));
        for (const text of texts) if (text !== '') selected.push(select(open(text)));
        at += texts.length;
      }
      return selected;
    },
  };
}
