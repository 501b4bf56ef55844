import { invalidBody } from '#shared/http/problem.ts';

export const RESULTS_MAX = 10_000;
const DIGITS = /^[0-9]{1,16}$/;

/** Which results are requested: `limit` entries from the entry `from` on. */
type Range = {
  readonly from: number;
  readonly limit: number;
  /** Whether the query has a `limit`; otherwise it is the default. */
  readonly hasLimit: boolean;
};

/**
 * The range of a request for results, by its query.
 *
 * @throws Problem `validation-failed`, naming the parameter
 * @example
 * parseRange('/access-control/check-roles/batch/AQ/results?from=500'); // { from: 500, limit: 10000, hasLimit: false }
 */
export function parseRange(url: string): Range {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
  const read = (name: string, missing: number, min: number, max: number): number => {
    const text = query.get(name);
    if (text === null) return missing;
    const value = DIGITS.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    const detail = `The query parameter ${name} must be a whole number from ${min} to ${max}.`;
    throw invalidBody([{ pointer: '', code: 'out-of-range', detail }]);
  };
  return {
    from: read('from', 0, 0, Number.MAX_SAFE_INTEGER),
    limit: read('limit', RESULTS_MAX, 1, RESULTS_MAX),
    hasLimit: query.has('limit'),
  };
}
