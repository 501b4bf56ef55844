// The one place that names the view library, so that pages read without knowing where it comes
// from.
import { useRef } from '/assets/vendor/htm-preact.js';

export * from '/assets/vendor/htm-preact.js';

let lastId = 0;

/** An id that no other element of the page has. */
export const useDomId = (name: string) => useRef(`${name}-${++lastId}`).current;
