// `npm run build:licences`: writes LICENCES.md, the packages that run in production with their
// licences.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Package = { readonly name: string; readonly version: string; readonly licence: string };

type LockEntry = { readonly version: string; readonly license?: string; readonly dev?: boolean };

const LOCKFILE = join(import.meta.dirname, '..', '..', 'package-lock.json');
export const LICENCES_FILE = join(import.meta.dirname, 'LICENCES.md');

/** Every package that `npm ci --omit=dev` may install, by name and version. */
export function productionPackages(): Package[] {
  const { packages } = JSON.parse(readFileSync(LOCKFILE, 'utf8')) as { packages: Record<string, LockEntry> };
  const found = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path, { version, license = 'none' }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      licence: license,
    }));
  const byText = new Map(found.map((each) => [`${each.name}@${each.version}`, each]));
  return [...byText].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each);
}

/** The text that `LICENCES.md` must have. */
export const describeLicences = (): string =>
  [
    '# Licences',
    '',
    'The packages that run in production, of the lockfile (`npm run build:licences`). The text of each',
    'licence is in its package, in `node_modules` of the image.',
    '',
    '| package | version | licence |',
    '|---|---|---|',
    ...productionPackages().map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`),
    '',
  ].join('\n');

if (process.argv[1] === import.meta.filename) writeFileSync(LICENCES_FILE, describeLicences());
