import { toast } from '../ui/toasts.js';
import { ask } from './api.js';
import { useEffect, useState } from './html.js';
import { useResource } from './use-resource.js';

/**
 * Pages of a list, each read after the one before when it is requested. A row that is on two pages is shown once.
 *
 * @param makePath `(next) => path`; `next` is undefined for the first page
 * @param rowsOf `(page) => rows`
 * @param idOf `(row) => text`; every row is kept where it is absent
 * @returns `{ first, rows, readMore }`; `readMore` is undefined on the last page
 *
 * @example
 * const { first, rows, readMore } = usePages((next) => `/api/things?after=${next ?? ''}`, ({ things }) => things);
 */
export function usePages(makePath, rowsOf, idOf) {
  const first = useResource(makePath());
  const [more, setMore] = useState({ rows: [], next: undefined });
  useEffect(() => setMore({ rows: [], next: first.value?.next }), [first.value]);
  const readMore = async () => {
    try {
      const page = await ask('GET', makePath(more.next));
      setMore({ rows: [...more.rows, ...rowsOf(page)], next: page.next });
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  const all = [...(first.value ? rowsOf(first.value) : []), ...more.rows];
  const rows = idOf ? [...new Map(all.map((row) => [idOf(row), row])).values()] : all;
  return { first, rows, readMore: more.next === undefined ? undefined : readMore };
}
