import { z } from 'zod';
import type { Problem } from '#shared/http/problem.ts';
import { pageOf, pageQuery, parseQuery } from './parse-query.ts';

const QUERY = pageQuery(z.string(), (text) => /^[a-z0-9]+$/.test(text)).extend({
  from: z.number({ error: 'must be a whole number from 0' }).int().min(0).default(0),
});
const parse = (query: string) => parseQuery({ originalUrl: `/list?${query}` }, QUERY);
const faultsOf = (query: string): unknown => {
  try {
    return parse(query);
  } catch (problem) {
    return (problem as Problem).members['errors'];
  }
};

describe('the query of a list', () => {
  it.each([
    ['limit=10&after=a', { countMax: 10, after: 'a' }],
    ['', { countMax: 50 }],
    ['limit=&after=', { countMax: 50 }],
    ['limit=200&other=x', { countMax: 200 }],
    ['after=12&after=b', { countMax: 50, after: '12' }],
    ['?limit=0', { countMax: 50 }],
  ])('is read from "%s"', (query, page) => {
    expect(pageOf(parse(query))).toEqual(page);
  });

  it('is read whatever form the target of the request has', () => {
    for (const target of ['//?limit=7', 'http://x:99999/list?limit=7'])
      expect(parseQuery({ originalUrl: target }, QUERY)).toEqual({ limit: 7, from: 0 });
  });

  it('has its defaults, and numbers where the schema has them', () => {
    expect(parse('from=007')).toEqual({ limit: 50, from: 7 });
  });

  it.each([
    ['limit=0', ['out-of-range', 'The parameter limit must be a whole number from 1 to 200.']],
    ['limit=201', ['out-of-range', 'The parameter limit must be a whole number from 1 to 200.']],
    ['limit=%20', ['out-of-range', 'The parameter limit must be a whole number from 1 to 200.']],
    ['limit=1e1', ['out-of-range', 'The parameter limit must be a whole number from 1 to 200.']],
    ['from=', ['out-of-range', 'The parameter from must be a whole number from 0.']],
    ['from=99999999999999999', ['out-of-range', 'The parameter from must be a whole number from 0.']],
    ['after=%20', ['malformed', 'The parameter after must be an id of this list.']],
  ])('is refused for "%s", naming the parameter', (query, [code, detail]) => {
    expect(faultsOf(query)).toEqual([{ pointer: '', code, detail }]);
  });

  it('is refused with every fault', () => {
    expect(faultsOf('limit=-1&after=%20')).toMatchObject([{ code: 'out-of-range' }, { code: 'malformed' }]);
  });
});
