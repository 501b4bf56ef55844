import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// npm verifies its downloads by the lockfile's hashes. Each machine chooses its own registry.

type Entry = {
  readonly version: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
};

const FILE = fileURLToPath(new URL('../package-lock.json', import.meta.url));
const { packages } = JSON.parse(readFileSync(FILE, 'utf8')) as { packages: Record<string, Entry> };
const entries = Object.entries(packages).filter(([path, { link }]) => path !== '' && !link);

/** Debian and Ubuntu on x64, the platform that set-up installs for. */
const isInstalled = ({ os = ['linux'], cpu = ['x64'], libc = ['glibc'] }: Entry): boolean =>
  os.includes('linux') && cpu.includes('x64') && libc.includes('glibc');
/**
 * TODO(issue): binaries of other platforms that the registry did not have when the lockfile was
 * written, so they have no hash. npm takes them unchecked; `npm install` on a registry that has
 * them adds the hashes.
 */
const WITHOUT_HASH = /^node_modules\/(@biomejs\/cli|@foundry-rs\/anvil|@swc\/core|@unrs\/resolver-binding)-/;
const WITHOUT_HASH_MAX = 37;

test('the lockfile names no registry', () => {
  expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

test('every package that Linux on x64 installs has a SHA-512 hash', () => {
  expect(entries.length).toBeGreaterThan(100);
  const unchecked = entries.filter(
    ([, entry]) => isInstalled(entry) && !/^sha512-[\w+/]{86}==$/.test(entry.integrity ?? ''),
  );
  expect(unchecked).toEqual([]);
});

test('a package without a hash is a known optional binary of another platform', () => {
  const without = entries.filter(([, { integrity }]) => integrity === undefined);
  expect(without.filter(([path, { optional }]) => !optional || !WITHOUT_HASH.test(path))).toEqual([]);
  expect(without.length).toBeLessThanOrEqual(WITHOUT_HASH_MAX);
});
