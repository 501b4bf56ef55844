import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readMarked } from '../support/figures/marked-text.ts';
import { drawGrowth, loadGrowth } from './growth.ts';
import { RESULTS_DIR } from './results.ts';
import { formatSizes, SIZES, SIZING_FILE } from './size-system.ts';

test('the stored picture matches the stored figures', () => {
  expect(readFileSync(join(RESULTS_DIR, 'growth.svg'), 'utf8')).toBe(drawGrowth());
});

test('the sizes in the operating manual are computed from the stored figures', () => {
  expect(readMarked(readFileSync(SIZING_FILE, 'utf8'), SIZES)).toBe(formatSizes(loadGrowth().curves));
});
