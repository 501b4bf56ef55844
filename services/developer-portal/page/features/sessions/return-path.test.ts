import { wantedPath, withReturn } from './return-path.ts';

const ORIGIN = 'https://portal.example';
const wantedAt = (address: string) => wantedPath(new URL(address, ORIGIN));

test.each(['/invitation#app_1.token', '/apps/app_1/try?a=b#check=e30', '/apps'])(
  'every form leads back to %s, which the form replaces',
  (page) => {
    expect(wantedAt(page)).toBe(page);
    for (const form of ['/sign-in', '/sign-up', '/forgotten-password'])
      expect(wantedAt(withReturn(form, page))).toBe(page);
  },
);

test('a form without a page to return to leads to the first page', () => {
  expect(withReturn('/sign-up', '/')).toBe('/sign-up');
  for (const address of ['/', '/sign-in', '/sign-up#', '/sign-up#main', '/sign-up#return='])
    expect(wantedAt(address)).toBe('/');
});

test.each([
  'https://evil.example/',
  'https:evil.example',
  '//evil.example/a',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '\t//evil.example',
  '/.//evil.example',
  '/a/..//evil.example',
  'javascript:alert(1)',
  'data:text/html,a',
  'apps',
  ' /apps',
])('a form never leads to %j, which is not a path of the portal', (target) => {
  expect(wantedAt(`/sign-up#return=${encodeURIComponent(target)}`)).toBe('/');
  expect(wantedAt(`/sign-in#return=${target}`)).toBe('/');
});

test('a fragment that cannot be decoded leads to the first page', () => {
  expect(wantedAt('/sign-in#return=%E0%A4%A')).toBe('/');
});
