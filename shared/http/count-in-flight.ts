import type { ServerResponse } from 'node:http';

/**
 * Counts the requests that are being answered: each from its call on until its connection closes or it is answered.
 *
 * @param observe told the number at each change
 * @returns counts a response in; how many there are with it
 *
 * @example
 * const countIn = makeInFlightCount((count) => metrics.inFlight.set(count));
 * if (countIn(response) > inFlightMax) refuse();
 */
export function makeInFlightCount(observe: (count: number) => void): (response: ServerResponse) => number {
  let count = 0;
  const move = (by: 1 | -1): number => {
    count += by;
    observe(count);
    return count;
  };
  return (response) => {
    response.once('close', () => move(-1));
    return move(1);
  };
}
