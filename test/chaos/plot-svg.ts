import type { Sample } from './soak.ts';

const WIDTH = 900;
const PANEL_HEIGHT = 180;
const MARGIN = { left: 60, right: 150, top: 24, bottom: 24 } as const;
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'] as const;

const PANELS = [
  { title: 'resident memory, MiB', of: ({ rssMib }: Sample) => rssMib },
  { title: 'active handles', of: ({ handles }: Sample) => handles },
  { title: 'event-loop delay p99, ms', of: ({ delayMs }: Sample) => delayMs },
] as const;

/** What a soak sampled as one picture: a panel a figure, a colour a service, a line a process's life. */
export function plotSvg(samples: readonly Sample[]): string {
  const services = [...new Set(samples.map(({ service }) => service))];
  const colourOf = (service: string): string =>
    COLOURS[services.indexOf(service) % COLOURS.length] ?? 'black';
  const lastS = Math.max(1, ...samples.map(({ atS }) => atS));
  const lives = [...Map.groupBy(samples, ({ service, pid }) => `${service} ${pid}`).values()];
  const panels = PANELS.map(({ title, of }, index) => {
    const top = index * (PANEL_HEIGHT + MARGIN.top + MARGIN.bottom) + MARGIN.top;
    const most = Math.max(1, ...samples.map(of));
    const x = ({ atS }: Sample): number => MARGIN.left + (atS / lastS) * (WIDTH - MARGIN.left - MARGIN.right);
    const y = (sample: Sample): number => top + PANEL_HEIGHT - (of(sample) / most) * PANEL_HEIGHT;
    const lines = lives.map((life) => {
      const points = life.map((sample) => `${x(sample).toFixed(1)},${y(sample).toFixed(1)}`).join(' ');
      return `<polyline points="${points}" stroke="${colourOf(life[0]?.service ?? '')}"/>`;
    });
    const bottom = top + PANEL_HEIGHT;
    return [
      `<text x="${MARGIN.left}" y="${top - 8}" font-weight="bold">${title}</text>`,
      `<text x="${MARGIN.left - 6}" y="${top + 5}" text-anchor="end">${Math.round(most)}</text>`,
      `<text x="${MARGIN.left - 6}" y="${bottom}" text-anchor="end">0</text>`,
      `<path d="M${MARGIN.left} ${top}V${bottom}H${WIDTH - MARGIN.right}" stroke="#999" fill="none"/>`,
      `<text x="${WIDTH - MARGIN.right}" y="${bottom + 16}" text-anchor="end">${Math.round(lastS / 60)} min</text>`,
      `<g fill="none" stroke-width="1.2">${lines.join('')}</g>`,
    ].join('\n');
  });
  const legend = services.map(
    (service, i) =>
      `<text x="${WIDTH - MARGIN.right + 12}" y="${MARGIN.top + 16 * (i + 1)}" fill="${colourOf(service)}">${service}</text>`,
  );
  const height = PANELS.length * (PANEL_HEIGHT + MARGIN.top + MARGIN.bottom);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    '<title>Memory, handles and event-loop delay of every process in the soak</title>',
    '<rect width="100%" height="100%" fill="white"/>',
    ...panels,
    ...legend,
    '</svg>\n',
  ].join('\n');
}
