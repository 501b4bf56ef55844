import { readFileSync } from 'node:fs';
import { describeLicences, LICENCES_FILE, productionPackages } from './licences.ts';

/** Licences that allow use, change and distribution without a duty to publish the code of others. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  'Unlicense',
]);
/** A font, which is distributed unchanged. */
const FONTS = new Set(['OFL-1.1']);

test('every package that runs in production has a licence that is allowed', () => {
  const isAllowed = (name: string, licence: string): boolean =>
    licence
      .replace(/^\((.*)\)$/, '$1')
      .split(' OR ')
      .some((one) => ALLOWED.has(one) || (name.startsWith('@fontsource') && FONTS.has(one)));
  const refused = productionPackages().filter(({ name, licence }) => !isAllowed(name, licence));
  expect(refused).toEqual([]);
});

test('the list of licences is that of the lockfile', () => {
  expect(readFileSync(LICENCES_FILE, 'utf8')).toBe(describeLicences());
});

test('the list names every direct dependency', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: object };
  const names = new Set(productionPackages().map(({ name }) => name));
  expect(Object.keys(dependencies).filter((name) => !names.has(name))).toEqual([]);
});
