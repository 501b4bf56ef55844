/** The points of one line, in order of x. */
export type Line = { readonly series: string; readonly points: readonly (readonly [x: number, y: number])[] };

/** One chart: y from zero, lines of one series in one colour. */
export type Panel = {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly xScale: 'linear' | 'logarithmic';
  /** The labelled values of x. */
  readonly ticks: readonly number[];
  readonly lines: readonly Line[];
};

const COLUMNS = 2;
const PANEL = { width: 430, height: 190 } as const;
const MARGIN = { left: 60, right: 16, top: 40, bottom: 46 } as const;
const CELL = {
  width: PANEL.width + MARGIN.left + MARGIN.right,
  height: PANEL.height + MARGIN.top + MARGIN.bottom,
} as const;
const LEGEND = { rowHeight: 20, bottom: 8, letterWidth: 7, gap: 24 } as const;
/** Okabe and Ito's, which people with any colour vision tell apart, and three more. */
const COLOURS = [
  ...['#000000', '#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#888888'],
  ...['#6a3d9a', '#8c510a', '#a50026'],
];

/**
 * Draws panels as one SVG, two in a row, with one legend.
 *
 * @example
 * drawPanels('cost', [{ title: 'rules', xLabel: 'rules', yLabel: 'CPU ms', xScale: 'linear', ticks: [1, 2],
 *   lines: [{ series: 'all', points: [[1, 2], [2, 3]] }] }]);
 */
export function drawPanels(title: string, panels: readonly Panel[]): string {
  const series = [...new Set(panels.flatMap(({ lines }) => lines.map((line) => line.series)))];
  const colourOf = (name: string): string => COLOURS[series.indexOf(name) % COLOURS.length] ?? 'black';
  const rows = Math.ceil(panels.length / COLUMNS);
  const width = COLUMNS * CELL.width;
  const entries = placeLegend(series, width);
  const legendHeight = ((entries.at(-1)?.row ?? 0) + 1) * LEGEND.rowHeight;
  const size = { width, height: rows * CELL.height + legendHeight + LEGEND.bottom };
  const legend = entries.map(({ name, x, row }) => {
    const y = rows * CELL.height + (row + 1) * LEGEND.rowHeight;
    return `<text x="${x}" y="${y}" fill="${colourOf(name)}">■ ${textOf(name)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" font-size="12">`,
    `<title>${textOf(title)}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    ...panels.map((panel, i) => {
      const at = `${(i % COLUMNS) * CELL.width + MARGIN.left} ${Math.floor(i / COLUMNS) * CELL.height + MARGIN.top}`;
      return `<g transform="translate(${at})">\n${drawPanel(panel, colourOf)}\n</g>`;
    }),
    ...legend,
    '</svg>\n',
  ].join('\n');
}

/** Names in rows, each as wide as its text. */
function placeLegend(names: readonly string[], width: number) {
  let x: number = MARGIN.left;
  let row = 0;
  return names.map((name) => {
    const own = (name.length + 2) * LEGEND.letterWidth;
    if (x + own > width) [x, row] = [MARGIN.left, row + 1];
    const entry = { name, x, row };
    x += own + LEGEND.gap;
    return entry;
  });
}

function drawPanel(panel: Panel, colourOf: (series: string) => string): string {
  const { title, xLabel, yLabel, ticks } = panel;
  const place = (value: number): number => (panel.xScale === 'linear' ? value : Math.log(value));
  const all = panel.lines.flatMap(({ points }) => points);
  const xs = all.map(([value]) => place(value));
  const [least, most] = [Math.min(...xs), Math.max(...xs)];
  const x = (value: number): number => ((place(value) - least) / (most - least || 1)) * PANEL.width;
  const top = Math.max(1e-9, ...all.map(([, value]) => value));
  const y = (value: number): number => PANEL.height - (value / top) * PANEL.height;
  const lines = panel.lines.map(({ series, points }) => {
    const own = points.map(([at, value]) => [x(at).toFixed(1), y(value).toFixed(1)] as const);
    const dots =
      panel.xScale === 'linear' ? [] : own.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="2.2"/>`);
    const colour = colourOf(series);
    return `<g fill="${colour}"><polyline points="${own.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.6"/>${dots.join('')}</g>`;
  });
  return [
    `<text x="0" y="-22" font-weight="bold">${textOf(title)}</text>`,
    `<text x="0" y="-7" fill="#555">${textOf(yLabel)}</text>`,
    `<text x="-6" y="4" text-anchor="end">${shorten(top)}</text>`,
    `<text x="-6" y="${PANEL.height}" text-anchor="end">0</text>`,
    `<path d="M0 0V${PANEL.height}H${PANEL.width}" stroke="#999" fill="none"/>`,
    ...ticks.map(
      (value) =>
        `<text x="${x(value).toFixed(1)}" y="${PANEL.height + 16}" text-anchor="middle">${shorten(value)}</text>`,
    ),
    `<text x="${PANEL.width / 2}" y="${PANEL.height + 34}" text-anchor="middle" fill="#555">${textOf(xLabel)}</text>`,
    ...lines,
  ].join('\n');
}

const shorten = (value: number): string => {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(3))} k`;
  return String(Number(value.toPrecision(3)));
};

const textOf = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
