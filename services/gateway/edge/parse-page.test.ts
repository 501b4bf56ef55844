import { PAGE_COUNT_DEFAULT, parsePage } from './parse-page.ts';

const parse = (query: string) => parsePage(new URLSearchParams(query), (text) => /^[a-z]+$/.test(text));

describe('the page that a query asks for', () => {
  it.each([
    ['limit=10&after=a', { countMax: 10, after: 'a' }],
    ['', { countMax: PAGE_COUNT_DEFAULT }],
    ['limit=&after=', { countMax: PAGE_COUNT_DEFAULT }],
    ['limit=200&other=x', { countMax: 200 }],
  ])('is read from "%s"', (query, page) => {
    expect(parse(query)).toEqual({ page, faults: [] });
  });

  it.each([
    ['limit=0', ['out-of-range']],
    ['limit=201', ['out-of-range']],
    ['limit=%20', ['out-of-range']],
    ['limit=-1&after=%20', ['out-of-range', 'malformed']],
  ])('is refused for "%s"', (query, codes) => {
    expect(parse(query).faults.map(({ code }) => code)).toEqual(codes);
  });
});
