import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The documents match the code: every setting is documented and passed on, every named command and
// file exists.

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENTS = [
  'README.md',
  'services/README.md',
  'test/README.md',
  'test/bench/README.md',
  'deploy/README.md',
  'deploy/RUNBOOK.md',
  '.github/CONTRIBUTING.md',
];
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The upper-case keys of the schema of a process's environment. */
const variablesOf = (path: string): string[] =>
  [...read(path).matchAll(/^\s+([A-Z][A-Z0-9_]{2,}):/gm)].map(([, name]) => name ?? '');

const services = readdirSync(join(ROOT, 'services'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .filter((name) => readdirSync(join(ROOT, 'services', name)).includes('config.ts'));

const variables = [
  ...new Set([
    ...variablesOf('shared/config.ts'),
    ...services.flatMap((name) => variablesOf(`services/${name}/config.ts`)),
  ]),
];

test('finds the variables of every service', () => {
  expect(services.length).toBeGreaterThanOrEqual(4);
  expect(variables).toContain('KAFKA_BROKERS');
  expect(variables.length).toBeGreaterThan(20);
});

test.each(variables)('%s is documented in deploy/SETTINGS.md', (name) => {
  expect(read('deploy/SETTINGS.md')).toContain(`\`${name}\``);
});

test.each(variables)('%s is passed on in docker-compose.yml', (name) => {
  expect(read('docker-compose.yml')).toMatch(new RegExp(`^\\s+${name}:`, 'm'));
});

test('the documents name only existing npm scripts', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const builtIn = new Set(['audit', 'ci', 'install', 'pack', 'version']);
  for (const document of DOCUMENTS) {
    const named = [...read(document).matchAll(/npm (?:run (?:--silent )?)?([a-z][a-z0-9:-]*)/g)].map(
      ([, name]) => name ?? '',
    );
    expect(named.filter((name) => name !== 'run' && !(name in scripts) && !builtIn.has(name))).toEqual([]);
  }
});

/** The documents that name files of the repository, by their paths from its root. */
const GUIDES = [
  'README.md',
  'services/README.md',
  'services/GLOSSARY.md',
  'services/LIMITATIONS.md',
  'deploy/README.md',
  'test/README.md',
  '.github/CONTRIBUTING.md',
  '.github/SECURITY.md',
  '.github/pull_request_template.md',
  ...readdirSync(join(ROOT, 'services/adr')).map((name) => `services/adr/${name}`),
];

/** Files and folders that a text names as code, and files that it links to. */
function namedIn(path: string): string[] {
  const text = read(path);
  const asCode = /`((?:\.github|deploy|services|shared|test)\/[\w./@-]*[\w@-])\/?`/g;
  const asLink = /\]\((?!https?:|mailto:|#)([^)#\s]+)/g;
  return [
    ...[...text.matchAll(asCode)].map(([, name = '']) => name),
    ...[...text.matchAll(asLink)].map(([, name = '']) => join(dirname(path), name)),
  ];
}

test.each(GUIDES)('%s names only files that exist', (path) => {
  expect(namedIn(path).filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
});

test('the guides name files at all', () => {
  for (const path of ['README.md', 'services/README.md', '.github/CONTRIBUTING.md'])
    expect(namedIn(path).length).toBeGreaterThan(10);
});

/** The READMEs of folders: tables *file | decides*. */
const ROOMS = ['services', 'shared', 'test'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('/README.md') && !path.includes('node_modules'))
    .map((path) => `${folder}/${path}`),
);

test.each(ROOMS)('%s names only files that its folder has', (path) => {
  const cells = [...read(path).matchAll(/^\| (`[^|]+`[^|]*)\|/gm)].map(([, cell = '']) => cell);
  const files = cells.flatMap((cell) => [...cell.matchAll(/`([\w./@-]+(?:\.(?:ts|js|mjs|yul)|\/))`/g)]);
  const missing = files
    .map(([, name = '']) => name)
    .filter((name) => ![dirname(path), '.'].some((folder) => existsSync(join(ROOT, folder, name))));
  expect(missing).toEqual([]);
});

test('the glossary has at most 40 words, each once and in alphabetical order', () => {
  const words = [...read('services/GLOSSARY.md').matchAll(/^\| ([^|]+?) \|/gm)].map(([, word = '']) => word);
  const [head, ...defined] = words;
  expect(head).toBe('word');
  expect(defined.length).toBeLessThanOrEqual(40);
  expect(defined).toEqual([...new Set(defined)].sort((a, b) => a.localeCompare(b, 'en')));
});

test('the index of the decisions has every record, newest first', () => {
  const records = readdirSync(join(ROOT, 'services/adr')).filter((name) => /^\d{4}-/.test(name));
  const listed = [...read('services/adr/README.md').matchAll(/\]\((\d{4}-[^)]+)\)/g)].map(([, name]) => name);
  expect(listed).toEqual(records.sort().reverse());
  expect(records.length).toBeLessThanOrEqual(25);
});

/** READMEs that list the files of their folder. */
const LISTS = globSync('{services,shared,test,deploy}/**/README.md', { cwd: ROOT }).filter((path) =>
  read(path).includes('| file | what it is for |'),
);

test('some folders list their files', () => {
  expect(LISTS.length).toBeGreaterThan(10);
});

test.each(LISTS)('%s lists every file of its folder, and no other', (path) => {
  const rows = read(path).match(/^\| `.*$/gm) ?? [];
  const named = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  );
  const files = readdirSync(join(ROOT, dirname(path)), { withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.ts$|^README\.md$/.test(entry.name))
    .map(({ name }) => name);
  expect(named.sort()).toEqual(files.sort());
});
