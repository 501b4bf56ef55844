/**
 * The named parts of a path, or undefined if it has another shape.
 *
 * @example
 * matchPath('/apps/:id/keys', '/apps/app_1/keys'); // { id: 'app_1' }
 */
export function matchPath(pattern, path) {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  const parts = {};
  for (const [place, name] of wanted.entries()) {
    if (!name.startsWith(':')) {
      if (name !== given[place]) return undefined;
    } else {
      const value = decode(given[place]);
      if (!value) return undefined;
      parts[name.slice(1)] = value;
    }
  }
  return parts;
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
