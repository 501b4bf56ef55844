import { forgetWantedPage, wantedPage } from './wanted-page.ts';

const tab = globalThis as unknown as { location: URL; sessionStorage: Partial<Storage> };

/** The page that is wanted at an address of a tab that keeps its entries. */
function wantedAt(address: string) {
  tab.location = new URL(address, 'https://portal.example');
  return wantedPage();
}

beforeEach(() => {
  const kept = new Map<string, string>();
  tab.sessionStorage = {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, value),
    removeItem: (name) => void kept.delete(name),
  };
});

test.each(['/invitation#app_1.token', '/apps/app_1/try?a=b#check=e30', '/apps'])(
  'every form leads back to %s, which a form replaced',
  (page) => {
    expect(wantedAt(page)).toBe(page);
    for (const form of ['/sign-in', '/sign-up', '/forgotten-password', '/single-sign-on?code=c'])
      expect(wantedAt(form)).toBe(page);
  },
);

test('a form that replaced no page leads to the first page, whatever its address says', () => {
  for (const address of ['/sign-in', '/sign-up#/apps', '/sign-in?return=https://evil.example/'])
    expect(wantedAt(address)).toBe('/');
});

test('the page is wanted until somebody is signed in', () => {
  wantedAt('/apps/app_1');
  forgetWantedPage();
  expect(wantedAt('/sign-in')).toBe('/');
});
