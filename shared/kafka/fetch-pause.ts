/** A broker answers a fetch as soon as there is one record: under load that is a request for every few. */
const PAUSE_MS = 5;
/** With so many records in work nobody waits for the next one. */
const BUSY_COUNT = 64;

export type FetchPause = {
  /** A fetch goes out: after it there may be a pause again. */
  readonly onFetch: () => void;
  /** Waited for between a fetch and the next: one pause where there is work enough already, else nothing. */
  readonly rest: (workingCount: number) => Promise<void> | undefined;
};

/**
 * Spaces the fetches of a busy consumer out, so that each brings more records: that costs broker and consumer a
 * part of the CPU time. An idle consumer never waits.
 *
 * @example
 * const pause = makeFetchPause();
 * await pause.rest(workingCount);
 */
export function makeFetchPause(): FetchPause {
  let hasRested = false;
  return {
    onFetch() {
      hasRested = false;
    },
    rest(workingCount) {
      if (hasRested || workingCount < BUSY_COUNT) return undefined;
      hasRested = true;
      return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    },
  };
}
