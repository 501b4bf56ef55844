import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// npm checks what it downloads by the lockfile's hash. The registry is each machine's own choice.

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
 * TODO(issue): binaries of other platforms that the registry at hand did not have when the lockfile was written, so
 * nobody could hash them. npm takes them unchecked; `npm install` on a registry that has them fills them in.
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

test('a package without a hash is an optional binary of another platform, and one that is known', () => {
  const without = entries.filter(([, { integrity }]) => integrity === undefined);
  expect(without.filter(([path, { optional }]) => !optional || !WITHOUT_HASH.test(path))).toEqual([]);
  expect(without.length).toBeLessThanOrEqual(WITHOUT_HASH_MAX);
});
