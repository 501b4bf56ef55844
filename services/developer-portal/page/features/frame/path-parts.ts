/** The item of a page on which something is made: nothing that is made can have this id. */
export const NEW = '-new';

/** `/apps/:id/:section/:item` and `/operator/:section/:item`, of which the last two may be
 * absent. */
const PARTED = /^\/(?:apps\/(?<id>[^/]+)|operator)(?:\/(?<section>[^/]+)(?:\/(?<item>[^/]+))?)?$/;

/**
 * The named parts of the path of a page that has some; undefined if it has another shape.
 *
 * @example
 * partsOf('/apps/app_1/keys'); // { id: 'app_1', section: 'keys' }
 */
export function partsOf(path: string): { id?: string; section?: string; item?: string } | undefined {
  const groups = PARTED.exec(path)?.groups;
  if (!groups) return undefined;
  try {
    const given = Object.entries(groups).filter(([, part]) => part !== undefined);
    return Object.fromEntries(given.map(([name, part]) => [name, decodeURIComponent(part)]));
  } catch {
    // A malformed escape: no page has such a path.
    return undefined;
  }
}
