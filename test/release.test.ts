import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// package.json alone states the version. What cannot be made from it is compared with it here.

const read = (path: string): string => readFileSync(join(__dirname, '..', path), 'utf8');
const { version, upgradeFrom } = JSON.parse(read('package.json')) as Record<string, string>;

test('the lockfile has the version of the package', () => {
  const lockfile = JSON.parse(read('package-lock.json'));
  expect([lockfile.version, lockfile.packages[''].version]).toEqual([version, version]);
});

// A Job is immutable, so each version needs one of its own.
test('the Job that creates the topics is named after the version', () => {
  expect(read('deploy/k8s/topics.yaml')).toContain(`\n  name: topics-${version?.replaceAll('.', '-')}\n`);
});

test('the changelog begins with the version', () => {
  expect(/^## (\S+)/m.exec(read('services/CHANGELOG.md'))?.[1]).toBe(version);
});

test('the upgrade test begins at the tag of a release that is not newer than the package', () => {
  const [, released = ''] = /^v(\d+\.\d+\.\d+)$/.exec(upgradeFrom ?? '') ?? [];
  expect(released).not.toBe('');
  expect(version?.localeCompare(released, 'en', { numeric: true })).toBeGreaterThanOrEqual(0);
});
