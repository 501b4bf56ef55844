import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawGrowth } from './growth.ts';
import { RESULTS_DIR } from './results.ts';

test('the stored picture is drawn from the stored figures', () => {
  expect(readFileSync(join(RESULTS_DIR, 'growth.svg'), 'utf8')).toBe(drawGrowth());
});
