let last = 0;

/** An id that no other element of the page has. */
export function makeDomId(name) {
  last += 1;
  return `${name}-${last}`;
}
