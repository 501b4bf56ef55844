// The one place that names the view library, so that pages read without knowing where it comes
// from.
import { useRef } from '/assets/vendor/htm-preact.js';

/** @import { Value } from '/assets/vendor/htm-preact.js' */

export * from '/assets/vendor/htm-preact.js';

/**
 * What is drawn of a value that is there; nothing of `undefined`, `false`, zero or an empty text.
 * @template T
 * @param {T} value
 * @param {(value: NonNullable<T>) => Value} draw
 * @returns {Value}
 */
export const when = (value, draw) => (value ? draw(value) : null);

let lastId = 0;

/** An id that no other element of the page has. @param {string} name */
export const useDomId = (name) => useRef(`${name}-${++lastId}`).current;
