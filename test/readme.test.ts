import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The documents match the code: every setting is documented and passed on, every named command and file exists.

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENTS = [
  'README.md',
  'services/README.md',
  'test/README.md',
  'test/bench/README.md',
  'deploy/README.md',
  'deploy/RUNBOOK.md',
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
  const builtIn = new Set(['ci', 'install']);
  for (const document of DOCUMENTS) {
    const named = [...read(document).matchAll(/npm (?:run (?:--silent )?)?([a-z][a-z0-9:-]*)/g)].map(
      ([, name]) => name ?? '',
    );
    expect(named.filter((name) => name !== 'run' && !(name in scripts) && !builtIn.has(name))).toEqual([]);
  }
});

test('the walk names only existing files', () => {
  const named = [
    ...read('services/README.md').matchAll(/`((?:services|shared|deploy|test)\/[\w./-]+\.[a-z]+)`/g),
  ];
  expect(named.length).toBeGreaterThan(10);
  const missing = named
    .map(([, path]) => path ?? '')
    .filter((path) => {
      try {
        read(path);
        return false;
      } catch {
        return true;
      }
    });
  expect(missing).toEqual([]);
});
