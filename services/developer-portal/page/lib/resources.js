import { toast } from '../ui/toasts.js';
import { addressOf, ask } from './api.js';
import { useContext, useEffect, useState } from './html.js';
import { Session } from './session.js';

/** @import { ApiError } from './api.js' */
/** @import { Answer, Params, Query, Read } from './types.ts' */

/**
 * What is read: neither value nor error while it is read the first time, both after a failed new
 * read.
 * @template T
 * @typedef {{ value: T | undefined, error: ApiError | undefined, reload: () => void }} Resource
 */

/** Statuses that say that old data must not be shown any more. */
const GONE = [403, 404];
const AGAIN_MS = 1_500;
const AFTER_FAILURE_MS = 5_000;

/**
 * Reads when the component appears, and again when `key` changes, `reload` is called, or the person
 * signs in again. The old data stay on the screen during a new read, and after a failed one unless
 * they are gone or forbidden, so forms on the page keep their input.
 * @template T
 * @param {string} key of what is read
 * @param {() => Promise<T>} read
 * @param {(value: T) => boolean} [isDone] reads repeatedly until then, also while the connection is
 *   lost
 * @returns {Resource<T>}
 */
export function useRead(key, read, isDone) {
  const [state, setState] = useState(
    /** @type {{ key: string, value?: T | undefined, error?: ApiError | undefined }} */ ({ key }),
  );
  const [round, setRound] = useState(0);
  const signIns = useContext(Session)?.signIns;
  useEffect(() => {
    let isWanted = true;
    /** @type {NodeJS.Timeout} */
    let timer;
    /** @param {T} value */
    const show = (value) => {
      setState({ key, value });
      if (isDone?.(value) === false) timer = setTimeout(look, AGAIN_MS);
    };
    /** @param {ApiError} error */
    const fail = (error) => {
      setState((last) => {
        const isKept = last.key === key && last.value !== undefined && !GONE.includes(error.status);
        if (isKept && isDone) return last;
        return { key, error, value: isKept ? last.value : undefined };
      });
      if (isDone && error.status !== 404) timer = setTimeout(look, AFTER_FAILURE_MS);
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

/**
 * A resource of the API.
 * @template {Read} C
 * @param {C} call
 * @param {Params<C>} params
 * @param {Query<C>} [query]
 * @param {(value: Answer<C>) => boolean} [isDone] reads repeatedly until then
 *
 * @example
 * const usage = useResource('GET /api/apps/:clientId/usage', { clientId });
 */
export const useResource = (call, params, query, isDone) =>
  useRead(addressOf(call, params, query), () => ask(call, /** @type {any} */ ({ params, query })), isDone);

/**
 * The member of a page that is its list.
 * @template A
 * @typedef {Extract<{ [M in keyof A]: A[M] extends readonly any[] ? M : never }[keyof A], string>}
 *   ListOf
 */

/**
 * Pages of a list, each read after the one before when it is requested. A row that is on two pages
 * is shown once.
 * @template {Read} C
 * @template {ListOf<Answer<C>>} M
 * @param {C} call
 * @param {Params<C>} params
 * @param {M} list the member of the answer
 * @param {keyof Query<C>} position the parameter that gets the `next` of the page before
 * @param {Query<C>} [query]
 * @param {string} [id] the member of a row that names it; every row is kept where it is absent
 * @example
 * const checks = usePages('GET /api/apps/:clientId/checks', { clientId }, 'checks', 'before');
 */
export function usePages(call, params, list, position, query = {}, id) {
  /** @typedef {Answer<C>[M] extends readonly (infer R)[] ? R : never} Row */
  /** @param {any} page @returns {Row[]} */
  const rowsOf = (page) => page?.[list] ?? [];
  /** @param {any} page @returns {string | number | undefined} */
  const nextOf = (page) => page?.next;
  const first = useResource(call, params, query);
  const [further, setFurther] = useState({
    after: first.value,
    rows: rowsOf(undefined),
    next: nextOf(undefined),
  });
  const more = further.after === first.value ? further : { rows: [], next: nextOf(first.value) };
  const readMore = async () => {
    try {
      const page = await ask(
        call,
        /** @type {any} */ ({ params, query: { ...query, [position]: more.next } }),
      );
      setFurther({ after: first.value, rows: [...more.rows, ...rowsOf(page)], next: nextOf(page) });
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  const all = [...rowsOf(first.value), ...more.rows];
  const rows = id ? [...new Map(all.map((row) => [/** @type {any} */ (row)[id], row])).values()] : all;
  return { first, rows, readMore: more.next === undefined ? undefined : readMore };
}
