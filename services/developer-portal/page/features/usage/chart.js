import uPlot from '/assets/vendor/uplot.js';
import { html, useEffect, useRef } from '../../lib/html.js';

const HEIGHT_PX = 240;
const SECOND_MS = 1_000;
/** For rows by day and by hour: the length of one, and the steps that the axis may have. */
const SCALES = {
  day: { stepS: 86_400, incrs: [86_400, 604_800, 1_209_600] },
  hour: { stepS: 3_600, incrs: [10_800, 21_600, 43_200, 86_400] },
};

/**
 * Days (`date`) or hours (`hour`) as stacked bars, or as lines. Colours are custom properties of the style sheet, so the chart is drawn again
 * when the theme changes.
 */
export function Chart({ days, view, format }) {
  const place = useRef(null);
  useEffect(() => {
    let plot = draw(place.current, days, view, format);
    const fit = new ResizeObserver(() =>
      plot.setSize({ width: place.current.clientWidth, height: HEIGHT_PX }),
    );
    fit.observe(place.current);
    const theme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => {
      plot.destroy();
      plot = draw(place.current, days, view, format);
    };
    theme.addEventListener('change', redraw);
    return () => {
      theme.removeEventListener('change', redraw);
      fit.disconnect();
      plot.destroy();
    };
  }, [days, view]);
  return html`<figure class="chart">
    <div ref=${place} role="img" aria-label=${describe(days, view, format)}></div>
  </figure>`;
}

function describe(days, { name, series, isStacked, unit }, format) {
  const busiest = (field) => Math.max(...days.map((day) => day[field] ?? 0));
  const sum = (field) => days.reduce((total, day) => total + (day[field] ?? 0), 0);
  const figures = series.map(([field, label]) =>
    isStacked ? `${label} ${format(sum(field))} ${unit}` : `${label} at most ${format(busiest(field))}`,
  );
  return `${name}, last ${days.length} ${scaleOf(days)}s: ${figures.join(', ')}`;
}

const scaleOf = ([first]) => (first?.hour === undefined ? 'day' : 'hour');

function draw(element, days, { series, isStacked }, format) {
  const style = getComputedStyle(element);
  const colour = (name) => style.getPropertyValue(name).trim();
  const scale = scaleOf(days);
  const { stepS, incrs } = SCALES[scale];
  const nameOf = scale === 'day' ? dayName : hourName;
  const times = days.map(
    ({ date, hour }) => Date.parse(hour ? `${hour}:00:00Z` : `${date}T00:00:00Z`) / SECOND_MS,
  );
  const raw = series.map(([field]) => days.map((day) => day[field] ?? null));
  const drawn = isStacked ? stack(raw) : raw;
  const bars = uPlot.paths.bars({ size: [0.7, 28], radius: 0.15 });
  // The tallest of a stack is painted first, so that every part stays visible.
  const order = isStacked ? series.map((_, place) => place).reverse() : series.map((_, place) => place);
  const axis = {
    stroke: colour('--muted'),
    font: '12px Inter, system-ui, sans-serif',
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  const plot = new uPlot(
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
        ...order.map((place) => ({
          label: series[place][1],
          stroke: colour(series[place][2]),
          width: isStacked ? 0 : 2,
          spanGaps: false,
          points: { show: !isStacked, size: 5 },
          ...(isStacked && { fill: colour(series[place][2]), paths: bars }),
          value: (_, __, ___, index) =>
            index === null || index === undefined ? '–' : format(raw[place][index]),
        })),
      ],
    },
    [times, ...order.map((place) => drawn[place])],
    element,
  );
  return plot;
}

/** Each series on top of those before it. */
function stack(series) {
  const heights = series[0].map(() => 0);
  return series.map((values) =>
    values.map((value, place) => {
      heights[place] += value ?? 0;
      return heights[place];
    }),
  );
}

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const dayName = (seconds) => DAY.format(new Date(seconds * SECOND_MS));
const HOUR = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});
const hourName = (seconds) => HOUR.format(new Date(seconds * SECOND_MS));
