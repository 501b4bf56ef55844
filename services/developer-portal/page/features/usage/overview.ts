import type { Answer } from '../../lib/api.ts';
import { formatBytes, formatCount, formatMs, formatShare } from '../../lib/format.ts';
import { html, useMemo } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { useQuery } from '../../lib/router.ts';
import { useApp } from '../../lib/session.ts';
import { Segments } from '../../ui/form.ts';
import { Card, Empty, loaded, PageHead, refreshButton } from '../../ui/page.ts';
import { StateBadge, Table, Time } from '../../ui/values.ts';
import { nameOfKeyId } from '../apps/keys.ts';
import { Chart, type Row, type View } from './chart.ts';

type Usage = Answer<'GET /api/apps/:clientId/usage'>;

/** From this share of the quota on, the bar shows a warning. */
const NEARLY_USED = 0.8;
/** Why this figure and the charts differ. */
const CHARGED =
  'A check is not charged if it decided nothing and another try may succeed; the charts count it too.';
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' });

export function Overview() {
  const usage = useResource('GET /api/apps/:clientId/usage', useApp());
  return html`
    <${PageHead} title="Overview" aside=${refreshButton(usage)} />
    ${loaded(usage, (value) => {
      const { today, totals, days, keys } = value;
      const isUnused = days.every(({ sync, poll, webhook }) => sync + poll + webhook === 0);
      const { undeterminedClient: client, undeterminedService: service } = totals;
      const causes =
        client + service === 0
          ? 'of all rules, last 30 days'
          : `of all rules: ${formatCount(client)} because of the rule, ${formatCount(service)} because of an endpoint`;
      return html`
      <${FirstSteps} isUnused=${isUnused} />
      <div class="tiles">
        <${Quota} ...${value.month} />
        <${Tile} label="Written today" value=${formatBytes(today.bytes)} note=${`of ${formatBytes(today.bytesMax)} that all apps of the account may write in a day (UTC)`}
          title="Requests, results, webhooks and their answers, rule sets and members of watches." />
        <${Tile} label="Undetermined" value=${formatShare(totals.undeterminedShare)} note=${causes}
          title="Rules that could not be read. They never count as denied." />
        <${Tile} label="Refused with 429" value=${formatCount(totals.refused)} note="requests, last 30 days" />
        <${Tile} label="Time to result" value=${formatMs(totals.p50Ms)} note=${`median; p95 ${formatMs(totals.p95Ms)}`} />
      </div>
      <${UsageCharts} usage=${value} isUnused=${isUnused} />
      ${keys.length > 0 && html`<${KeyUsage} keys=${keys} />`}`;
    })}
    <${Chains} />
  `;
}

function Chains() {
  const options = useResource('GET /api/try-options', {});
  return loaded(
    options,
    ({ chains }) =>
      chains.length > 0 &&
      html`<${Card} title="Chains">
        <ul class="rows inner">${chains.map(
          ({ chainId, name, state, since }) => html`<li key=${chainId}>
            <div class="grow">${name} <span class="sub">${chainId}</span></div>
            <p class="sub facts">${since && html`since <${Time} at=${since} />`}</p>
            <div class="badges"><${StateBadge} of="chain" state=${state} /></div>
          </li>`,
        )}</ul>
        <p class="hint">A rule on a chain that cannot be read is undetermined: it takes no role away.</p>
      <//>`,
  );
}

function KeyUsage({ keys }) {
  const { app } = useApp();
  const mostChecks = Math.max(...keys.map(({ checks }) => checks));
  const drawKey = ({ keyId, checks }: Usage['keys'][number]) => html`<tr key=${keyId}>
    <th scope="row">${keyId === 'other' ? 'Other keys' : nameOfKeyId(app, keyId)}</th><td class="number">${formatCount(checks)}</td>
    <td class="bar-cell"><div class="bar" style=${{ width: `${(checks / mostChecks) * 100}%` }}></div></td>
  </tr>`;
  return html`<${Card} title="By API key">
    <${Table} label="Checks by API key" class="steps-table" heads=${['Key', '#Checks, 30 days', '']}>${keys.map(drawKey)}<//>
    <p class="hint">Single checks only: batches are not counted by key.</p>
  <//>`;
}

const Tile = ({ label, value, note, title }) => html`<div class="tile" title=${title}>
  <h2>${label}</h2><p class="figure">${value}</p><p class="sub">${note}</p>
</div>`;

function Quota({ name, used, quota }: Usage['month']) {
  const share = quota > 0 ? Math.min(1, used / quota) : 1;
  const ofQuota = `${formatCount(used)} of ${formatCount(quota)}`;
  return html`<div class="tile quota">
    <h2 id="quota-label">Checks in ${MONTH.format(new Date(`${name}-01T00:00:00Z`))}</h2>
    <p class="figure">${formatCount(used)} <span class="of">of ${formatCount(quota)}</span></p>
    <div class=${share >= NEARLY_USED ? 'meter near' : 'meter'} role="meter" aria-labelledby="quota-label" aria-valuemin="0"
      aria-valuemax=${quota} aria-valuenow=${used} aria-valuetext=${ofQuota}>
      <div style=${{ width: `${share * 100}%` }}></div>
    </div>
    <p class="sub">${share >= 1 ? 'Used up: checks are refused until next month' : `${formatCount(quota - used)} left this month`}. ${CHARGED}</p>
  </div>`;
}

/** The way to the first verdict, until the app has it. */
function FirstSteps({ isUnused }) {
  const { app, base, may } = useApp();
  if ((app.scope.state === 'approved' && !isUnused) || !may('createKey')) return null;
  return html`<p class="notice">From a new app to its first verdict: <a href=${`${base}/quickstart`}>Quickstart</a></p>`;
}

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

function UsageCharts({ usage, isUnused }) {
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
