import { readFileSync } from 'node:fs';
import { formatFigures, README, readFigures } from './readme-figures.ts';
import { loadResults } from './results.ts';

test("the README's figures are those of the newest run", () => {
  expect(readFigures(readFileSync(README, 'utf8')).trim()).toBe(formatFigures(loadResults()).trim());
});

test('figures of several days say so', () => {
  const table = { title: 't', rows: [{ what: 'a|b', measured: 1, unit: 's' }] };
  const text = formatFigures({
    machine: { cpu: 'a CPU', cores: 2, memoryGiB: 4 },
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
  const text = formatFigures({ machine: { cpu: 'a CPU', cores: 2, memoryGiB: 4 }, versions: {}, parts: {} });
  expect(text).toContain('Not measured yet: chain, gateway,');
});

test('a README without the marks is refused', () => {
  expect(() => readFigures('# Rolecall')).toThrow('no place');
});
