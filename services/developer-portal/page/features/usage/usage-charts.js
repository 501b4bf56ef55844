import { formatBytes, formatCount, formatMs } from '../../lib/format.js';
import { html, useMemo } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { Card, Empty } from '../../ui/page.js';
import { Segments, Table } from '../../ui/values.js';
import { Chart } from './chart.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @import { Row, View } from './chart.js' */

/** @type {Record<string, View>} */
const VIEWS = {
  modes: {
    name: 'By mode',
    unit: 'checks',
    isStacked: true,
    format: formatCount,
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
    format: formatCount,
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
    format: formatCount,
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
    format: formatCount,
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
    format: formatMs,
    series: [
      ['p50Ms', 'p50', '--chart-1'],
      ['p95Ms', 'p95', '--chart-2'],
    ],
  },
};

const RANGES = /** @type {const} */ ([
  ['hours', '48 hours'],
  ['days', '30 days'],
]);
const CAUSES_HINT =
  'A rule is undetermined because of the rule itself (a wrong contract, or a block that no node has) or because an endpoint could not be read. Batches do not record the cause.';

/**
 * The last days or hours as a chart, and as a table.
 * @param {{ usage: Answer<'GET /api/apps/:clientId/usage'>, isUnused: boolean }} props
 */
export function UsageCharts({ usage, isUnused }) {
  const [{ chart, range }, setQuery] = useQuery({ chart: 'modes', range: 'days' });
  /** Batches do not tell why their rules are undetermined. @type {Row[]} */
  const days = useMemo(
    () =>
      (range === 'hours' ? usage.hours : usage.days).map((row) => ({
        ...row,
        undeterminedOther: Math.max(0, row.undetermined - row.undeterminedClient - row.undeterminedService),
      })),
    [usage, range],
  );
  const chosen = Object.hasOwn(VIEWS, chart) ? chart : 'modes';
  const view = /** @type {View} */ (VIEWS[chosen]);
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
              <${Table} label="Figures" heads=${['UTC', ...view.series.map(([, name]) => `#${name}`)]}>${days
                .toReversed()
                .map(
                  ({ hour, date, ...row }) => html`<tr
                    key=${hour ?? date}><th scope="row">${hour ? `${hour.replace('T', ' ')}:00` : date}</th>
                  ${view.series.map(([field]) => html`<td class="number">${view.format(row[field] ?? null)}</td>`)}</tr>`,
                )}<//>
            </details>`
    }
  <//>`;
}
