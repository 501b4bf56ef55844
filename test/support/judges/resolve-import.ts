import { dirname, join, normalize, sep } from 'node:path';

/**
 * What an import means: a path from the root for the project's own files, the package's name for
 * all others.
 *
 * @param from the path of the importing file, from the root
 * @example
 * resolveImport('shared/http/problem.ts', '../errors.ts'); // 'shared/errors.ts'
 */
export function resolveImport(from: string, target: string): string {
  if (target.startsWith('#shared/')) return target.slice(1);
  return target.startsWith('.')
    ? normalize(join(dirname(from), target))
        .split(sep)
        .join('/')
    : target;
}
