import { toast } from '../ui/toasts.ts';
import { type Answer, type ApiError, addressOf, askFor, type Params, type Query, type Read } from './api.ts';
import { useContext, useEffect, useState } from './html.ts';
import { Session } from './session.ts';

/** What is read: neither value nor error while it is read the first time, both after a failed new
 * read. */
export type Resource<T> = { value: T | undefined; error: ApiError | undefined; reload: () => void };

/** Statuses that say that old data must not be shown any more. */
const GONE = [403, 404];
const AGAIN_MS = 1_500;
const AFTER_FAILURE_MS = 5_000;

/**
 * Reads when the component appears, and again when `key` changes, `reload` is called, or the person
 * signs in again. The old data stay on the screen during a new read, and after a failed one unless
 * they are gone or forbidden, so forms on the page keep their input.
 * @param isDone reads repeatedly until then, also while the connection is lost, and not while the tab
 *   is hidden
 */
export function useRead<T>(key: string, read: () => Promise<T>, isDone?: (value: T) => boolean): Resource<T> {
  const [state, setState] = useState<{ key: string } & Partial<Omit<Resource<T>, 'reload'>>>({ key });
  const [round, setRound] = useState(0);
  const signIns = useContext(Session)?.signIns;
  useEffect(() => {
    let isWanted = true;
    let timer: NodeJS.Timeout;
    const again = (afterMs: number) => {
      timer = setTimeout(() => (document.hidden ? again(afterMs) : look()), afterMs);
    };
    const show = (value: T) => {
      setState({ key, value });
      if (isDone?.(value) === false) again(AGAIN_MS);
    };
    const fail = (error: ApiError) => {
      setState((last) => {
        const isKept = last.key === key && last.value !== undefined && !GONE.includes(error.status);
        if (isKept && isDone) return last;
        return { key, error, value: isKept ? last.value : undefined };
      });
      if (isDone && error.status !== 404) again(AFTER_FAILURE_MS);
    };
    const look = () =>
      void read().then(
        (value) => isWanted && show(value),
        (error) => isWanted && fail(error),
      );
    look();
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [key, round, signIns]);
  const current = state.key === key ? state : undefined;
  return { value: current?.value, error: current?.error, reload: () => setRound((last) => last + 1) };
}

/** A resource of the API: `useResource('GET /api/apps/:clientId/usage', { clientId })`. */
export const useResource = <C extends Read>(
  call: C,
  params: Params<C>,
  query?: Query<C>,
  isDone?: (value: Answer<C>) => boolean,
) => useRead(addressOf(call, params, query), () => askFor(call, params, query), isDone);

type Row<C extends Read, M extends keyof Answer<C>> = Answer<C>[M] extends readonly (infer R)[] ? R : never;

/**
 * Pages of a list, each read after the one before when it is requested. A row that is on two pages
 * is shown once.
 * @param list the member of the answer
 * @param id the member of a row that names it; every row is kept where it is absent
 *
 * @example
 * const checks = usePages('GET /api/apps/:clientId/checks', { clientId }, 'checks');
 */
export function usePages<C extends Read, M extends keyof Answer<C>>(
  call: C,
  params: Params<C>,
  list: M,
  query: Query<C> = {},
  id?: keyof Row<C, M>,
) {
  const first = useResource(call, params, query);
  const [read, setRead] = useState<{ from?: Answer<C> | undefined; pages: Answer<C>[] }>({ pages: [] });
  const further = read.from === first.value ? read.pages : [];
  const pages = first.value === undefined ? [] : [first.value, ...further];
  const { next } = (pages.at(-1) ?? {}) as { next?: string | number };
  const readMore = async () => {
    try {
      const page = await askFor(call, params, { ...query, after: next });
      setRead({ from: first.value, pages: [...further, page] });
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  const all = pages.flatMap((page) => page[list] as Row<C, M>[]);
  const rows = id ? [...new Map(all.map((row) => [row[id], row])).values()] : all;
  return { first, rows, readMore: next === undefined ? undefined : readMore };
}
