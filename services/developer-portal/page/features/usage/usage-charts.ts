import type { Answer } from '../../lib/api.ts';
import { formatBytes, formatCount, formatMs } from '../../lib/format.ts';
import { html, useMemo } from '../../lib/html.ts';
import { useQuery } from '../../lib/router.ts';
import { Segments } from '../../ui/form.ts';
import { Card, Empty } from '../../ui/page.ts';
import { Table } from '../../ui/values.ts';
import { Chart, type Row, type View } from './chart.ts';

const VIEWS: Record<string, View> = {
  modes: {
    name: 'By mode',
    unit: 'checks',
    format: formatCount,
    series: { sync: 'Sync', poll: 'Poll', webhook: 'Webhook', batch: 'Batch' },
    colours: ['1', '2', '3', '4'],
  },
  outcomes: {
    name: 'By outcome',
    unit: 'rules',
    format: formatCount,
    series: { granted: 'Granted', denied: 'Denied', undetermined: 'Undetermined' },
    colours: ['good', 'quiet', 'warn'],
  },
  causes: {
    name: 'Undetermined',
    unit: 'rules',
    format: formatCount,
    series: {
      undeterminedClient: 'Because of the rule',
      undeterminedService: 'Because of an endpoint',
      undeterminedOther: 'Cause not recorded',
    },
    colours: ['1', 'warn', 'quiet'],
  },
  results: {
    name: 'By result',
    unit: 'requests',
    format: formatCount,
    series: { completed: 'Completed', failed: 'Failed', refused: 'Refused by a limit' },
    colours: ['good', 'bad', 'warn'],
  },
  bytes: {
    name: 'Bytes written',
    unit: 'bytes',
    format: formatBytes,
    series: { bytes: 'Bytes' },
    colours: ['1'],
  },
  latency: {
    name: 'Latency',
    unit: 'ms',
    isLines: true,
    format: formatMs,
    series: { p50Ms: 'p50', p95Ms: 'p95' },
    colours: ['1', '2'],
  },
};

const RANGES = Object.entries({ hours: '48 hours', days: '30 days' });
const CAUSES_HINT =
  'A rule is undetermined because of the rule itself (a wrong contract, or a block that no node has) or because an endpoint could not be read. Batches do not record the cause.';

type Day = Answer<'GET /api/apps/:clientId/usage'>['days'][number];

/** Batches do not tell why their rules are undetermined. */
const withOther = (row: Day): Row => ({
  ...row,
  undeterminedOther: Math.max(0, row.undetermined - row.undeterminedClient - row.undeterminedService),
});

const drawFigures = ({ hour, date, ...row }: Row, { series, format }: View) => html`<tr key=${hour ?? date}>
  <th scope="row">${hour ? `${hour.replace('T', ' ')}:00` : date}</th>
  ${Object.keys(series).map((field) => html`<td class="number">${format(row[field] ?? null)}</td>`)}
</tr>`;

export function UsageCharts({ usage, isUnused }) {
  const [{ chart, range }, setQuery] = useQuery({ chart: 'modes', range: 'days' });
  const days = useMemo(() => (range === 'hours' ? usage.hours : usage.days).map(withOther), [usage, range]);
  const chosen = Object.hasOwn(VIEWS, chart) ? chart : 'modes';
  const view = VIEWS[chosen] as View;
  const options = Object.entries(VIEWS).map(([value, { name }]) => [value, name]);
  return html`<${Card} title="Usage" class="usage"
    aside=${html`<${Segments} label="How far back" options=${RANGES} value=${range === 'hours' ? range : 'days'} onChange=${(value) => setQuery({ range: value })} />
      <${Segments} label="What the chart shows" options=${options} value=${chosen} onChange=${(value) => setQuery({ chart: value })} />`}>
    ${
      isUnused
        ? html`<${Empty} title="No checks yet"><p>As soon as this app makes its first check, its days appear here.</p><//>`
        : html`<${Chart} key=${`${chosen}/${range}`} days=${days} view=${view} />
            <p class="hint">All checks with their result, also those that were not charged. ${chosen === 'causes' && CAUSES_HINT}</p>
            <details class="figures"><summary>Show the figures</summary>
              <${Table} label="Figures" heads=${['UTC', ...Object.values(view.series).map((name) => `#${name}`)]}>
                ${days.toReversed().map((row) => drawFigures(row, view))}
              <//>
            </details>`
    }
  <//>`;
}
