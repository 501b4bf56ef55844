import { drawPanels, type Panel } from './draw-panels.ts';

const panel: Panel = {
  title: 'rules < 100',
  xLabel: 'rules',
  yLabel: 'CPU ms',
  xScale: 'logarithmic',
  ticks: [1, 10],
  lines: [
    {
      series: 'all',
      points: [
        [1, 2],
        [10, 4],
      ],
    },
    { series: 'kafka', points: [[1, 1]] },
  ],
};

const linesOf = (svg: string) => [...svg.matchAll(/<polyline points="([^"]*)"/g)].map(([, points]) => points);

test('each series is one line, with its highest point at the top and its last point at the right', () => {
  expect(linesOf(drawPanels('cost', [panel]))).toEqual(['0.0,95.0 430.0,0.0', '0.0,142.5']);
});

test('a linear axis places points by their distance', () => {
  const points = [
    [0, 1],
    [1, 1],
    [4, 1],
  ] as const;
  const svg = drawPanels('soak', [{ ...panel, xScale: 'linear', lines: [{ series: 'all', points }] }]);
  expect(linesOf(svg)).toEqual(['0.0,0.0 107.5,0.0 430.0,0.0']);
});

test('markup in a title is shown as text', () => {
  expect(drawPanels('cost', [panel])).toContain('rules &lt; 100');
});

test('a single point and a series of zeros are drawn', () => {
  const lines = [{ series: 'all', points: [[5, 0]] as const }];
  expect(drawPanels('cost', [{ ...panel, ticks: [5], lines }])).not.toContain('NaN');
});

test('names in the legend do not overlap, however long they are', () => {
  const long = Array.from({ length: 8 }, (_, i) => `a series with a long name ${i}`);
  const lines = long.map((series) => ({ series, points: [[1, 1]] as const }));
  const places = [
    ...drawPanels('cost', [{ ...panel, lines }]).matchAll(/<text x="(\d+)" y="(\d+)" fill="[^"]+">■/g),
  ].map(([, x, y]) => [Number(x), Number(y)] as const);
  expect(places).toHaveLength(long.length);
  for (const [i, [x, y]] of places.entries()) {
    const [nextX, nextY] = places[i + 1] ?? [Infinity, y];
    expect(nextY > y || nextX - x > 28 * 5).toBe(true);
  }
});
