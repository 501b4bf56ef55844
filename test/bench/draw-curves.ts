/** One point: where on the x axis, and a value of each series. */
export type Point = { readonly x: number; readonly values: Readonly<Record<string, number>> };

export type Curve = {
  readonly title: string;
  /** What grows, and what is measured in which unit. */
  readonly xLabel: string;
  readonly yLabel: string;
  readonly points: readonly Point[];
  /** What a reader must know, such as where the series ended early. */
  readonly note?: string;
};

const COLUMNS = 2;
const PANEL = { width: 430, height: 190 } as const;
const MARGIN = { left: 60, right: 16, top: 40, bottom: 46 } as const;
const CELL = {
  width: PANEL.width + MARGIN.left + MARGIN.right,
  height: PANEL.height + MARGIN.top + MARGIN.bottom,
} as const;
const LEGEND = { columns: 6, rowHeight: 20, bottom: 8 } as const;
const COLOURS = ['#000000', '#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#888888'];

/**
 * Curves as one picture of panels: x logarithmic, y from zero, a colour a series.
 *
 * @example
 * drawCurves([{ title: 'rules', xLabel: 'rules', yLabel: 'CPU ms', points: [{ x: 1, values: { all: 2 } }] }]);
 */
export function drawCurves(curves: readonly Curve[]): string {
  const series = [
    ...new Set(curves.flatMap(({ points }) => points.flatMap(({ values }) => Object.keys(values)))),
  ];
  const colourOf = (name: string): string => COLOURS[series.indexOf(name) % COLOURS.length] ?? 'black';
  const rows = Math.ceil(curves.length / COLUMNS);
  const legendRows = Math.ceil(series.length / LEGEND.columns);
  const size = {
    width: COLUMNS * CELL.width,
    height: rows * CELL.height + legendRows * LEGEND.rowHeight + LEGEND.bottom,
  };
  const legend = series.map((name, i) => {
    const x = MARGIN.left + (i % LEGEND.columns) * Math.floor((size.width - MARGIN.left) / LEGEND.columns);
    const y = rows * CELL.height + (Math.floor(i / LEGEND.columns) + 1) * LEGEND.rowHeight;
    return `<text x="${x}" y="${y}" fill="${colourOf(name)}">■ ${textOf(name)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" font-size="12">`,
    `<title>${textOf(`How the cost of a check grows: ${curves.map(({ title }) => title).join(', ')}`)}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    ...curves.map((curve, i) => {
      const at = `${(i % COLUMNS) * CELL.width + MARGIN.left} ${Math.floor(i / COLUMNS) * CELL.height + MARGIN.top}`;
      return `<g transform="translate(${at})">\n${drawPanel(curve, colourOf)}\n</g>`;
    }),
    ...legend,
    '</svg>\n',
  ].join('\n');
}

function drawPanel({ title, xLabel, yLabel, points }: Curve, colourOf: (series: string) => string): string {
  const xs = points.map(({ x }) => Math.log(x));
  const [least, most] = [Math.min(...xs), Math.max(...xs)];
  const x = (value: number): number => ((Math.log(value) - least) / (most - least || 1)) * PANEL.width;
  const top = Math.max(1e-9, ...points.flatMap(({ values }) => Object.values(values)));
  const y = (value: number): number => PANEL.height - (value / top) * PANEL.height;
  const names = [...new Set(points.flatMap(({ values }) => Object.keys(values)))];
  const lines = names.map((name) => {
    const own = points.flatMap(({ x: at, values }) => {
      const value = values[name];
      return value === undefined ? [] : [`${x(at).toFixed(1)},${y(value).toFixed(1)}`];
    });
    const dots = own.map(
      (point) => `<circle cx="${point.split(',')[0]}" cy="${point.split(',')[1]}" r="2.2"/>`,
    );
    return `<g fill="${colourOf(name)}"><polyline points="${own.join(' ')}" fill="none" stroke="${colourOf(name)}" stroke-width="1.6"/>${dots.join('')}</g>`;
  });
  return [
    `<text x="0" y="-22" font-weight="bold">${textOf(title)}</text>`,
    `<text x="0" y="-7" fill="#555">${textOf(yLabel)}</text>`,
    `<text x="-6" y="4" text-anchor="end">${shorten(top)}</text>`,
    `<text x="-6" y="${PANEL.height}" text-anchor="end">0</text>`,
    `<path d="M0 0V${PANEL.height}H${PANEL.width}" stroke="#999" fill="none"/>`,
    ...points.map(
      ({ x: value }) =>
        `<text x="${x(value).toFixed(1)}" y="${PANEL.height + 16}" text-anchor="middle">${shorten(value)}</text>`,
    ),
    `<text x="${PANEL.width / 2}" y="${PANEL.height + 34}" text-anchor="middle" fill="#555">${textOf(xLabel)}</text>`,
    ...lines,
  ].join('\n');
}

const shorten = (value: number): string => {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(3))} k`;
  return String(Number(value.toPrecision(3)));
};

const textOf = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
