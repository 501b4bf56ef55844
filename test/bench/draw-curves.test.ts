import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Curve, drawCurves } from './draw-curves.ts';

const curve = {
  title: 'rules < 100',
  xLabel: 'rules',
  yLabel: 'CPU ms',
  points: [
    { x: 1, values: { all: 2, kafka: 1 } },
    { x: 10, values: { all: 4 } },
  ],
};

test('each series is a line through its own points, the highest at the top and the last at the right', () => {
  const lines = [...drawCurves([curve]).matchAll(/<polyline points="([^"]*)"/g)].map(([, points]) => points);
  expect(lines).toEqual(['0.0,95.0 430.0,0.0', '0.0,142.5']);
});

test('the picture that is kept is drawn from the figures that are kept', () => {
  const kept = (name: string): string => readFileSync(join(import.meta.dirname, 'results', name), 'utf8');
  const { curves } = JSON.parse(kept('growth.json')) as { readonly curves: Record<string, Curve> };
  expect(kept('growth.svg')).toBe(drawCurves(Object.values(curves)));
});

test('what is text is no markup', () => {
  expect(drawCurves([curve])).toContain('rules &lt; 100');
});

test('a single point and a series of zeros still draw', () => {
  const svg = drawCurves([{ ...curve, points: [{ x: 5, values: { all: 0 } }] }]);
  expect(svg).not.toContain('NaN');
});
