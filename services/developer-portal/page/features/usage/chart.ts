import uPlot from '/assets/vendor/uplot.js';
import { html, useEffect, useRef } from '../../lib/html.ts';

/** A day (`date`) or an hour with its figures. */
export type Row = { date?: string; hour?: string } & { [field: string]: number | string | null };
/** What a chart shows: lines, or bars on top of each other. */
export type View = {
  name: string;
  unit: string;
  isLines?: boolean;
  format: (figure) => string;
  /** The name of each field of a row that is drawn. */
  series: Record<string, string>;
  /** Of each: `good` is `--chart-good` of the style sheet. */
  colours: string[];
};

const HEIGHT_PX = 240;
const SECOND_MS = 1_000;
const LOCALE = 'en-GB';
const DAY = { day: 'numeric', month: 'short', timeZone: 'UTC' } as const;
/** For rows by day and by hour: the length of one, the name of one, and the steps and the space that
 * the axis may have. */
const SCALES = {
  day: {
    stepS: 86_400,
    name: new Intl.DateTimeFormat(LOCALE, DAY),
    axis: { incrs: [86_400, 604_800, 1_209_600], space: 60 },
  },
  hour: {
    stepS: 3_600,
    name: new Intl.DateTimeFormat(LOCALE, { ...DAY, hour: '2-digit', minute: '2-digit' }),
    axis: { incrs: [10_800, 21_600, 43_200, 86_400], space: 80 },
  },
};

export function Chart({ days, view }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = place.current;
    let plot = draw(element, days, view);
    const fit = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    fit.observe(element);
    const theme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => {
      plot.destroy();
      plot = draw(element, days, view);
    };
    theme.addEventListener('change', redraw);
    return () => {
      theme.removeEventListener('change', redraw);
      fit.disconnect();
      plot.destroy();
    };
  }, [days, view]);
  return html`<figure class="chart"><div ref=${place} role="img" aria-label=${describe(days, view)}></div></figure>`;
}

const scaleOf = ([first]: Row[]) => (first?.hour === undefined ? 'day' : 'hour');
const figuresOf = (days: Row[], field: string) => days.map((day) => (day[field] ?? null) as number | null);

function describe(days: Row[], { name, series, isLines, unit, format }: View) {
  const figures = Object.entries(series).map(([field, label]) => {
    const values = figuresOf(days, field).map((figure) => figure ?? 0);
    return isLines
      ? `${label} at most ${format(Math.max(...values))}`
      : `${label} ${format(values.reduce((total, value) => total + value, 0))} ${unit}`;
  });
  return `${name}, last ${days.length} ${scaleOf(days)}s: ${figures.join(', ')}`;
}

function draw(element: HTMLElement, days: Row[], { series, colours, isLines = false, format }: View) {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const { stepS, name, axis: timeAxis } = SCALES[scaleOf(days)];
  const nameOf = (seconds: number) => name.format(new Date(seconds * SECOND_MS));
  const times = days.map(
    ({ date, hour }) => Date.parse(hour ? `${hour}:00:00Z` : `${date}T00:00:00Z`) / SECOND_MS,
  );
  const bars = uPlot.paths.bars?.({ size: [0.7, 28], radius: 0.15 });
  const axis = {
    stroke: colour('--muted'),
    font: '12px Inter, system-ui, sans-serif',
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  const nameOfTick = (tick: number) => {
    if (tick === 0) return '0';
    return isLines || Number.isInteger(tick) ? format(tick) : '';
  };
  // Each series on top of those before it.
  const heights = days.map(() => 0);
  const drawn = Object.entries(series).map(([field, label], place) => {
    const stroke = colour(`--chart-${colours[place]}`);
    const figures = figuresOf(days, field);
    const stacked = figures.map((figure, day) => (heights[day] = (heights[day] ?? 0) + (figure ?? 0)));
    const shown: uPlot.Series = {
      label,
      stroke,
      width: isLines ? 2 : 0,
      spanGaps: false,
      points: { show: isLines, size: 5 },
      ...(!isLines && bars && { fill: stroke, paths: bars }),
      value: (_, __, ___, index) => (typeof index === 'number' ? format(figures[index]) : '–'),
    };
    return { shown, values: isLines ? figures : stacked };
  });
  // The tallest of a stack is painted first, so that every part stays visible.
  if (!isLines) drawn.reverse();
  return new uPlot(
    {
      width: element.clientWidth,
      height: HEIGHT_PX,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * SECOND_MS), 'Etc/UTC'),
      cursor: { y: false, points: { show: isLines }, drag: { x: false, y: false } },
      scales: {
        x: { range: (_, min, max) => [min - stepS / 2, max + stepS / 2] },
        y: { range: (_, __, max) => [0, Math.max(1, max * 1.08)] },
      },
      axes: [
        { ...axis, ...timeAxis, grid: { show: false }, values: (_, ticks) => ticks.map(nameOf) },
        { ...axis, values: (_, ticks) => ticks.map(nameOfTick), size: 64 },
      ],
      series: [
        {
          label: scaleOf(days) === 'day' ? 'Day' : 'Hour',
          value: (_, seconds) => (seconds === null ? '–' : nameOf(seconds)),
        },
        ...drawn.map(({ shown }) => shown),
      ],
    },
    [times, ...drawn.map(({ values }) => values)],
    element,
  );
}
