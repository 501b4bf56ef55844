import { PATHS, reach } from './count-paths.ts';

test.each(Object.entries(PATHS))('the path of a %s begins at files that exist', (_, entries) => {
  expect(reach(entries).size).toBeGreaterThan(entries.length);
});
