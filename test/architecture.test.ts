import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveImport } from './support/judges/resolve-import.ts';

// Who may import whom, and how a folder is made. `npm run check` runs this file beside the linter.

const ROOT = fileURLToPath(new URL('..', import.meta.url));

type Source = { readonly path: string; readonly text: string; readonly imports: readonly string[] };

function sourcesOf(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => {
      const path = relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join('/');
      const text = readFileSync(join(ROOT, path), 'utf8');
      const imports = [
        ...text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)'|import\('([^']+)'\)|^import '([^']+)'/gm),
      ];
      return { path, text, imports: imports.map(([, a, b, c]) => resolveImport(path, a ?? b ?? c ?? '')) };
    });
}

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
const isTest = ({ path }: Source) => path.endsWith('.test.ts');
const sources = [...sourcesOf('services'), ...sourcesOf('shared')];
const production = sources.filter((source) => !isTest(source));

/** Every forbidden import, for the failure message. */
const offenders = (
  files: readonly Source[],
  isForbidden: (target: string, from: string) => boolean,
): string[] =>
  files.flatMap(({ path, imports }) =>
    imports.filter((target) => isForbidden(target, path)).map((target) => `${path} imports ${target}`),
  );

const serviceOf = (path: string): string | undefined => /^services\/([^/]+)\//.exec(path)?.[1];
const packageIs = (name: string) => (target: string) => target === name || target.startsWith(`${name}/`);

test('a service never imports another service', () => {
  const crosses = (target: string, from: string) =>
    serviceOf(target) !== undefined && serviceOf(from) !== serviceOf(target);
  expect(offenders(sources, crosses)).toEqual([]);
});

test('shared imports no service', () => {
  const shared = sources.filter(({ path }) => path.startsWith('shared/'));
  expect(offenders(shared, (target) => target.startsWith('services/'))).toEqual([]);
});

test.each([
  ['contracts', ['shared/contracts/', 'shared/errors.ts']],
  ['redis', ['shared/redis/', 'shared/telemetry/', 'shared/contracts/']],
])('shared/%s imports none of the stores that are built on it', (folder, allowed) => {
  const files = production.filter(({ path }) => path.startsWith(`shared/${folder}/`));
  const isForeign = (target: string) =>
    target.startsWith('shared/') &&
    /^shared\/[^/]+\//.test(target) &&
    !allowed.some((place) => target.startsWith(place));
  expect(files.length).toBeGreaterThan(9);
  expect(offenders(files, isForeign)).toEqual([]);
});

test('no file imports itself, directly or through other files', () => {
  const importsOf = new Map(sources.map(({ path, imports }) => [path, imports]));
  const finished = new Set<string>();
  const findCircle = (path: string, way: readonly string[]): readonly string[] | undefined => {
    if (way.includes(path)) return [...way.slice(way.indexOf(path)), path];
    if (finished.has(path)) return undefined;
    for (const target of importsOf.get(path) ?? []) {
      const circle = findCircle(target, [...way, path]);
      if (circle) return circle;
    }
    finished.add(path);
    return undefined;
  };
  expect(sources.flatMap(({ path }) => findCircle(path, [])?.join(' → ') ?? [])).toEqual([]);
});

test('domain imports only contracts and its own files, and does no I/O', () => {
  const domain = production.filter(({ path }) => path.includes('/domain/'));
  expect(domain.length).toBeGreaterThan(10);
  const isForeign = (target: string, from: string) =>
    target.startsWith('node:') ||
    (target.startsWith('shared/') && !target.startsWith('shared/contracts/')) ||
    (target.startsWith('services/') && !target.startsWith(dirname(from)));
  expect(offenders(domain, isForeign)).toEqual([]);
  const reachOut = domain.filter(({ text }) =>
    /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bprocess\./.test(withoutComments(text)),
  );
  expect(reachOut.map(({ path }) => path)).toEqual([]);
});

test('contracts import no adapter', () => {
  const contracts = production.filter(({ path }) => path.startsWith('shared/contracts/'));
  const isAdapter = (target: string) => /^shared\/(kafka|redis|stores|http|telemetry)\//.test(target);
  expect(offenders(contracts, isAdapter)).toEqual([]);
});

test.each([
  ['ethers', ['services/evaluator/chain/']],
  ['kafkajs', ['shared/kafka/']],
  ['ioredis', ['shared/redis/']],
  ['express', ['services/gateway/', 'services/developer-portal/', 'shared/http/']],
])('%s is imported only where it lives', (name, homes) => {
  const strangers = production.filter(({ path }) => !homes.some((home) => path.startsWith(home)));
  expect(offenders(strangers, packageIs(name))).toEqual([]);
});

test('only a composition root reads the process environment', () => {
  const readers = production.filter(
    ({ path, text }) => !path.endsWith('main.ts') && /process\.env/.test(withoutComments(text)),
  );
  expect(readers.map(({ path }) => path)).toEqual([]);
});

// Data files of a kind lie side by side, however many they are.
const COLLECTIONS = ['services/adr', 'services/gateway/docs/pages', 'test/contract/golden'];

test('a folder holds at most 15 files, tests and README aside', () => {
  const counts = new Map<string, number>();
  for (const top of ['services', 'shared', 'deploy', 'test'])
    for (const entry of readdirSync(join(ROOT, top), { recursive: true, withFileTypes: true })) {
      const folder = relative(ROOT, entry.parentPath).split(sep).join('/');
      const isCounted = entry.isFile() && !/\.test\.ts$|^README\.md$/.test(entry.name);
      if (isCounted && !COLLECTIONS.includes(folder)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
  expect([...counts].filter(([, count]) => count > 15)).toEqual([]);
});
