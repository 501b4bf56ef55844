import uPlot from '/assets/vendor/uplot.js';
import { html, useEffect, useRef } from '../../lib/html.js';

/**
 * A day (`date`) or an hour with its figures.
 * @typedef {{ date?: string, hour?: string } & { [field: string]: any }} Row
 */
/**
 * What a chart shows: of each series the field of a row, its name and its colour, a custom property
 * of the style sheet.
 * @typedef {object} View
 * @property {string} name
 * @property {string} unit
 * @property {boolean} isStacked bars on top of each other, or lines
 * @property {(figure: any) => string} format
 * @property {[field: string, label: string, colour: string][]} series
 */

const HEIGHT_PX = 240;
const SECOND_MS = 1_000;
/** For rows by day and by hour: the length of one, and the steps that the axis may have. */
const SCALES = {
  day: { stepS: 86_400, incrs: [86_400, 604_800, 1_209_600] },
  hour: { stepS: 3_600, incrs: [10_800, 21_600, 43_200, 86_400] },
};

/**
 * Days or hours as stacked bars, or as lines. The chart is drawn again when the theme changes its
 * colours.
 * @param {{ days: Row[], view: View }} props
 */
export function Chart({ days, view }) {
  const place = useRef(/** @type {any} */ (null));
  useEffect(() => {
    /** @type {HTMLElement} */
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
  return html`<figure class="chart">
    <div ref=${place} role="img" aria-label=${describe(days, view)}></div>
  </figure>`;
}

/**
 * @param {Row[]} days
 * @param {View} view
 */
function describe(days, { name, series, isStacked, unit, format }) {
  const figures = series.map(([field, label]) => {
    /** @type {number[]} */
    const values = days.map((day) => day[field] ?? 0);
    return isStacked
      ? `${label} ${format(values.reduce((total, value) => total + value, 0))} ${unit}`
      : `${label} at most ${format(Math.max(...values))}`;
  });
  return `${name}, last ${days.length} ${scaleOf(days)}s: ${figures.join(', ')}`;
}

/** @param {Row[]} days */
const scaleOf = ([first]) => (first?.hour === undefined ? 'day' : 'hour');

/** @param {Row[]} days */
function draw(element, days, { series, isStacked, format }) {
  const style = getComputedStyle(element);
  const colour = (name) => style.getPropertyValue(name).trim();
  const scale = scaleOf(days);
  const { stepS, incrs } = SCALES[scale];
  const nameOf = (seconds) => NAMES[scale].format(new Date(seconds * SECOND_MS));
  const times = days.map(
    ({ date, hour }) => Date.parse(hour ? `${hour}:00:00Z` : `${date}T00:00:00Z`) / SECOND_MS,
  );
  /** @type {(number | null)[][]} */
  const raw = series.map(([field]) => days.map((day) => day[field] ?? null));
  const drawn = isStacked ? stack(raw) : raw;
  const bars = uPlot.paths.bars?.({ size: [0.7, 28], radius: 0.15 });
  // The tallest of a stack is painted first, so that every part stays visible.
  const order = isStacked ? [...series.keys()].reverse() : [...series.keys()];
  const axis = {
    stroke: colour('--muted'),
    font: '12px Inter, system-ui, sans-serif',
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return new uPlot(
    {
      width: element.clientWidth,
      height: HEIGHT_PX,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * SECOND_MS), 'Etc/UTC'),
      cursor: { y: false, points: { show: !isStacked }, drag: { x: false, y: false } },
      scales: {
        x: { range: (_, min, max) => [min - stepS / 2, max + stepS / 2] },
        y: { range: (_, __, max) => [0, Math.max(1, max * 1.08)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          values: (_, ticks) => ticks.map(nameOf),
          space: scale === 'day' ? 60 : 80,
          incrs,
        },
        {
          ...axis,
          values: (_, ticks) =>
            ticks.map((tick) =>
              tick === 0 ? '0' : Number.isInteger(tick) || !isStacked ? format(tick) : '',
            ),
          size: 64,
        },
      ],
      series: [
        {
          label: scale === 'day' ? 'Day' : 'Hour',
          value: (_, seconds) => (seconds === null ? '–' : nameOf(seconds)),
        },
        ...order.map((place) => {
          const [, label, name] = series[place] ?? ['', '', ''];
          return {
            label,
            stroke: colour(name),
            width: isStacked ? 0 : 2,
            spanGaps: false,
            points: { show: !isStacked, size: 5 },
            ...(isStacked && bars && { fill: colour(name), paths: bars }),
            value: (
              /** @type {uPlot} */ _,
              /** @type {number} */ __,
              /** @type {number} */ ___,
              /** @type {number | null} */ index,
            ) => (index === null || index === undefined ? '–' : format(raw[place]?.[index])),
          };
        }),
      ],
    },
    [times, ...order.map((place) => drawn[place] ?? [])],
    element,
  );
}

/** Each series on top of those before it. */
function stack(series) {
  /** @type {number[]} */
  const heights = [];
  return series.map((values) =>
    values.map((value, place) => (heights[place] = (heights[place] ?? 0) + (value ?? 0))),
  );
}

/** @type {Intl.DateTimeFormatOptions} */
const DAY = { day: 'numeric', month: 'short', timeZone: 'UTC' };
const NAMES = {
  day: new Intl.DateTimeFormat('en-GB', DAY),
  hour: new Intl.DateTimeFormat('en-GB', { ...DAY, hour: '2-digit', minute: '2-digit' }),
};
