import { searchDocuments } from './operate.ts';

/** Steps of 100 numbers from 0 to `count`. */
const numbersTo = (count: number) => async (cursor: string) => {
  const from = Number(cursor);
  const documents = Array.from({ length: Math.min(100, count - from) }, (_, i) => from + i);
  return { documents, cursor: from + 100 < count ? String(from + 100) : undefined };
};

test('pages of a search have every match once, and a page ends at a hundred', async () => {
  const scan = numbersTo(1_000);
  const first = await searchDocuments(scan, (n) => n % 2 === 0, '0');
  expect(first).toMatchObject({ found: { length: 100 }, next: '200' });
  const found = [...first.found];
  for (let { next } = first; next !== undefined; ) {
    const page = await searchDocuments(scan, (n) => n % 2 === 0, next);
    found.push(...page.found);
    next = page.next;
  }
  expect(found).toEqual(Array.from({ length: 500 }, (_, i) => 2 * i));
});

test('a search without a match ends after 5 000 documents, and can be continued', async () => {
  let steps = 0;
  const scan = numbersTo(8_000);
  const counted = (cursor: string) => {
    steps++;
    return scan(cursor);
  };
  expect(await searchDocuments(counted, () => false, '0')).toEqual({ found: [], next: '5000' });
  expect(steps).toBe(50);
  expect(await searchDocuments(counted, (n) => n === 7_999, '5000')).toEqual({
    found: [7_999],
    next: undefined,
  });
});
