import { formatBytes, formatCount, formatMs } from '../../lib/format.js';
import { html, useMemo } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { Segments } from '../../ui/segments.js';
import { Card, Empty } from '../../ui/states.js';
import { Chart } from './chart.js';

/** The series of the chart: field of a day, its name, its colour (a custom property of the style sheet). */
const VIEWS = {
  modes: {
    name: 'By mode',
    unit: 'checks',
    isStacked: true,
    series: [
      ['sync', 'Sync', '--chart-1'],
      ['poll', 'Poll', '--chart-2'],
      ['webhook', 'Webhook', '--chart-3'],
      ['batch', 'Batch', '--chart-4'],
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
  causes: {
    name: 'Undetermined',
    unit: 'rules',
    isStacked: true,
    series: [
      ['undeterminedClient', 'Because of the rule', '--chart-1'],
      ['undeterminedService', 'Because of an endpoint', '--chart-warn'],
      ['undeterminedOther', 'Cause not recorded', '--chart-quiet'],
    ],
  },
  results: {
    name: 'By result',
    unit: 'requests',
    isStacked: true,
    series: [
      ['completed', 'Completed', '--chart-good'],
      ['failed', 'Failed', '--chart-bad'],
      ['refused', 'Refused by a limit', '--chart-warn'],
    ],
  },
  bytes: {
    name: 'Bytes written',
    unit: 'bytes',
    isStacked: true,
    format: formatBytes,
    series: [['bytes', 'Bytes', '--chart-1']],
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

const RANGES = [
  ['hours', '48 hours'],
  ['days', '30 days'],
];
/** Batches do not tell why their rules are undetermined. */
const withRest = (row) => ({
  ...row,
  undeterminedOther: Math.max(0, row.undetermined - row.undeterminedClient - row.undeterminedService),
});

/** The last days or hours as a chart, and as a table. */
export function UsageCharts({ usage, isUnused }) {
  const [{ chart, range }, setQuery] = useQuery({ chart: 'modes', range: 'days' });
  const days = useMemo(() => (range === 'hours' ? usage.hours : usage.days).map(withRest), [usage, range]);
  const chosen = Object.hasOwn(VIEWS, chart) ? chart : 'modes';
  const view = VIEWS[chosen];
  const format = view.format ?? (view.isStacked ? formatCount : formatMs);
  const options = Object.entries(VIEWS).map(([value, { name }]) => [value, name]);
  return html`<${Card} title="Usage" class="usage"
    aside=${html`<${Segments} label="How far back" options=${RANGES} value=${range === 'hours' ? range : 'days'} onChange=${(value) => setQuery({ range: value })} />
      <${Segments} label="What the chart shows" options=${options} value=${chosen} onChange=${(value) => setQuery({ chart: value })} />`}>
    ${
      isUnused
        ? html`<${Empty} title="No checks yet"><p>As soon as this app makes its first check, its days appear here.</p><//>`
        : html`<${Chart} key=${`${chosen}/${range}`} days=${days} view=${view} format=${format} />
            <p class="hint">All checks with their result, also those that were not charged. ${chosen === 'causes' && WHY}</p>
            <details class="figures"><summary>Show the figures</summary><${DayTable} days=${days} view=${view} format=${format} /></details>`
    }
  <//>`;
}

const WHY =
  'A rule is undetermined because of the rule itself (a wrong contract, or a block that no node has) or because an endpoint could not be read. Batches do not record the cause.';

const DayTable = ({
  days,
  view,
  format,
}) => html`<div class="scroll" tabindex="0" role="region" aria-label="Figures"><table>
  <thead><tr><th scope="col">UTC</th>${view.series.map(([, name]) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
  <tbody>${days.toReversed().map(
    (
      day,
    ) => html`<tr key=${day.hour ?? day.date}><th scope="row">${day.hour ? `${day.hour.replace('T', ' ')}:00` : day.date}</th>
      ${view.series.map(([field]) => html`<td class="number">${format(day[field])}</td>`)}</tr>`,
  )}</tbody>
</table></div>`;
