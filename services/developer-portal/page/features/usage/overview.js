import { formatBytes, formatCount, formatMs, formatShare } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { PageHead } from '../../ui/page-head.js';
import { Card, Loaded } from '../../ui/states.js';
import { nameOfKey } from '../checks/checks.js';
import { UsageCharts } from './usage-charts.js';

/** From this share of the quota on, the bar shows a warning. */
const NEARLY_USED = 0.8;

/** The app's state: the remaining steps of its set-up, the month, the last 30 days. */
export function Overview() {
  const { api } = useApp();
  const usage = useResource(`${api}/usage`);
  return html`
    <${PageHead} title="Overview" aside=${html`<button type="button" onClick=${usage.reload}>Refresh</button>`} />
    <${Loaded} resource=${usage}>${(value) => html`<${Figures} usage=${value} />`}<//>
  `;
}

function Figures({ usage }) {
  const { month, today, totals, days } = usage;
  const isUnused = days.every(({ sync, poll, webhook }) => sync + poll + webhook === 0);
  return html`
    <${NextSteps} isUnused=${isUnused} />
    <div class="tiles">
      <${Quota} ...${month} />
      <${Tile} label="Written today" value=${formatBytes(today.bytes)} note=${`of ${formatBytes(today.bytesMax)} that all apps of the account may write in a day (UTC)`}
        title="Requests, results, webhooks and their answers, rule sets and members of watches." />
      <${Tile} label="Undetermined" value=${formatShare(totals.undeterminedShare)} note=${causesOf(totals)}
        title="Rules that could not be read. They never count as denied." />
      <${Tile} label="Refused with 429" value=${formatCount(totals.refused)} note="requests, last 30 days" />
      <${Tile} label="Time to result" value=${formatMs(totals.p50Ms)} note=${`median; p95 ${formatMs(totals.p95Ms)}`} />
    </div>
    <${UsageCharts} usage=${usage} isUnused=${isUnused} />
    ${usage.keys.length > 0 && html`<${KeyUsage} keys=${usage.keys} />`}
  `;
}

/** The caption of undetermined rules: their causes, where checks had some. */
const causesOf = ({ undeterminedClient: client, undeterminedService: service }) =>
  client + service === 0
    ? 'of all rules, last 30 days'
    : `of all rules: ${formatCount(client)} because of the rule, ${formatCount(service)} because of an endpoint`;

/** Which keys made the checks of the last 30 days. */
function KeyUsage({ keys }) {
  const { app } = useApp();
  const mostChecks = Math.max(...keys.map(({ checks }) => checks));
  const nameOf = (keyId) => {
    const key = app.keys.find((one) => one.keyId === keyId);
    if (key) return nameOfKey(key);
    return keyId === 'other' ? 'Other keys' : html`<code class="break">${keyId}</code>`;
  };
  return html`<${Card} title="By API key"><div class="scroll" tabindex="0" role="region" aria-label="Checks by API key"><table class="steps-table">
    <thead><tr><th scope="col">Key</th><th scope="col" class="number">Checks, 30 days</th><td></td></tr></thead>
    <tbody>${keys.map(
      ({
        keyId,
        checks,
      }) => html`<tr key=${keyId}><th scope="row">${nameOf(keyId)}</th><td class="number">${formatCount(checks)}</td>
        <td class="bar-cell"><div class="bar" style=${{ width: `${(checks / mostChecks) * 100}%` }}></div></td></tr>`,
    )}</tbody>
  </table></div>
    <p class="hint">Single checks only: batches are not counted by key.</p>
  <//>`;
}

const Tile = ({ label, value, note, title }) => html`<div class="tile" title=${title}>
  <h2>${label}</h2><p class="figure">${value}</p><p class="sub">${note}</p>
</div>`;

function Quota({ name, used, quota }) {
  const share = quota > 0 ? Math.min(1, used / quota) : 1;
  return html`<div class="tile quota">
    <h2 id="quota-label">Checks in ${monthName(name)}</h2>
    <p class="figure">${formatCount(used)} <span class="of">of ${formatCount(quota)}</span></p>
    <div class=${share >= NEARLY_USED ? 'meter near' : 'meter'} role="meter" aria-labelledby="quota-label" aria-valuemin="0"
      aria-valuemax=${quota} aria-valuenow=${used} aria-valuetext=${`${formatCount(used)} of ${formatCount(quota)}`}>
      <div style=${{ width: `${share * 100}%` }}></div>
    </div>
    <p class="sub">${share >= 1 ? 'Used up: checks are refused until next month' : `${formatCount(quota - used)} left this month`}. ${CHARGED}</p>
  </div>`;
}

/** Why this figure and the charts differ. */
const CHARGED =
  'A check is not charged if it decided nothing and another try may succeed; the charts count it too.';

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' });
const monthName = (name) =>
  /^\d{4}-\d{2}$/.test(name) ? MONTH.format(new Date(`${name}-01T00:00:00Z`)) : name;

/** The remaining steps of a new app's set-up; nothing once it is in use. */
function NextSteps({ isUnused }) {
  const { app, base, may } = useApp();
  const { state } = app.scope;
  if (state === 'approved' && !isUnused) return null;
  const step = (isDone, href, text, note, isMine = true) => html`<li class=${isDone ? 'done' : ''}>
    <span class="tick" aria-hidden="true">${isDone ? '✓' : ''}</span>
    <div>${isDone || !isMine ? html`<span>${text}</span>` : html`<a href=${href}>${text}</a>`}<p class="sub">${isDone ? 'Done' : note}</p></div>
  </li>`;
  const scopeNote =
    state === 'requested'
      ? 'Requested: an operator will look at it.'
      : 'Tell the operators what you are building.';
  return html`<${Card} title="Next steps" class="next-steps"><ol>
    ${step(true, base, 'Create the app')}
    ${step(state === 'approved', `${base}/scope`, 'Get the token-gating scope', scopeNote, may('requestScope'))}
    ${step(!isUnused, `${base}/try`, 'Make a first check', 'On this page, with a wallet and a rule of yours.', may('tryCheck'))}
  </ol><//>`;
}
