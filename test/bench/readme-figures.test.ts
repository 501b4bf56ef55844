import { readFileSync } from 'node:fs';
import { readMarked } from '../support/figures/marked-text.ts';
import { FIGURES, FIGURES_FILE, formatFigures, formatHighlights, README } from './readme-figures.ts';
import { loadResults } from './results.ts';

test('the documents show the figures of the newest run', () => {
  const results = loadResults();
  expect(readMarked(readFileSync(FIGURES_FILE, 'utf8'), FIGURES)).toBe(formatFigures(results).trim());
  expect(readMarked(readFileSync(README, 'utf8'), FIGURES)).toBe(formatHighlights(results).trim());
});

test('the README shows at least five figures with a verdict', () => {
  const rows = formatHighlights(loadResults()).split('\n').slice(2);
  expect(rows.length).toBeGreaterThanOrEqual(5);
  for (const row of rows) expect(row).toMatch(/met|missed/);
});

test('figures of several days are dated', () => {
  const table = { title: 't', rows: [{ what: 'a|b', measured: 1, unit: 's' }] };
  const text = formatFigures({
    machine: { cpu: 'a CPU', cores: 2, memoryGiB: 4, system: 'Linux' },
    versions: { node: 'v24' },
    parts: {
      x: { at: '2026-11-20T10:00:00.000Z', ...table },
      y: { at: '2026-11-21T10:00:00.000Z', ...table },
    },
  });
  expect(text).toContain('2026-11-20 to 2026-11-21');
  expect(text).toContain('| a\\|b | 1 s |');
});

test('a part without figures is named', () => {
  const text = formatFigures({
    machine: { cpu: 'a CPU', cores: 2, memoryGiB: 4, system: 'Linux' },
    versions: {},
    parts: {},
  });
  expect(text).toContain('Not measured yet: chain, gateway,');
});
