import { formatCount, formatMs } from '../core/format.js';
import { html } from '../core/html.js';
import { useQuery } from '../core/router.js';
import { Chart } from '../parts/chart.js';
import { Segments } from '../parts/segments.js';
import { Card, Empty } from '../parts/states.js';

/** What can be looked at: field of a day, its name, its colour (a custom property of the style sheet). */
const VIEWS = {
  modes: {
    name: 'By mode',
    unit: 'checks',
    isStacked: true,
    series: [
      ['sync', 'Sync', '--chart-1'],
      ['poll', 'Poll', '--chart-2'],
      ['webhook', 'Webhook', '--chart-3'],
    ],
  },
  outcomes: {
    name: 'By outcome',
    unit: 'rules',
    isStacked: true,
    series: [
      ['granted', 'Granted', '--chart-good'],
      ['denied', 'Denied', '--chart-quiet'],
      ['undetermined', 'Undetermined', '--chart-warn'],
    ],
  },
  results: {
    name: 'By result',
    unit: 'requests',
    isStacked: true,
    series: [
      ['completed', 'Completed', '--chart-good'],
      ['failed', 'Failed', '--chart-bad'],
      ['refused', 'Refused (429)', '--chart-warn'],
    ],
  },
  latency: {
    name: 'Latency',
    unit: 'ms',
    isStacked: false,
    series: [
      ['p50Ms', 'p50', '--chart-1'],
      ['p95Ms', 'p95', '--chart-2'],
    ],
  },
};

/** The last 30 days as a chart, and as a table. */
export function UsageCharts({ days, isUnused }) {
  const [{ chart }, setQuery] = useQuery({ chart: 'modes' });
  const chosen = Object.hasOwn(VIEWS, chart) ? chart : 'modes';
  const view = VIEWS[chosen];
  const format = view.isStacked ? formatCount : formatMs;
  const options = Object.entries(VIEWS).map(([value, { name }]) => [value, name]);
  return html`<${Card} title="Last 30 days" class="usage"
    aside=${html`<${Segments} label="What the chart shows" options=${options} value=${chosen} onChange=${(value) => setQuery({ chart: value })} />`}>
    ${
      isUnused
        ? html`<${Empty} title="No checks yet"><p>As soon as this app makes its first check, its days appear here.</p><//>`
        : html`<${Chart} key=${chosen} days=${days} view=${view} format=${format} />
            <p class="hint">All checks of the last 30 days with their result, also those that were not charged.</p>
            <details class="figures"><summary>Show the figures</summary><${DayTable} days=${days} view=${view} format=${format} /></details>`
    }
  <//>`;
}

const DayTable = ({
  days,
  view,
  format,
}) => html`<div class="scroll" tabindex="0" role="region" aria-label="Figures by day"><table>
  <thead><tr><th scope="col">Day (UTC)</th>${view.series.map(([, name]) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
  <tbody>${days.toReversed().map(
    (day) => html`<tr key=${day.date}><th scope="row">${day.date}</th>
      ${view.series.map(([field]) => html`<td class="number">${format(day[field])}</td>`)}</tr>`,
  )}</tbody>
</table></div>`;
