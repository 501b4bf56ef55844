import { formatCount } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { Card, Empty, loaded, PageHead, refreshButton } from '../../ui/page.js';
import { Badge, Table, Time } from '../../ui/values.js';

const yesNo = (/** @type {boolean | null} */ is) => (is === null ? '–' : is ? 'yes' : 'no');
const figure = (/** @type {number | null} */ value) => (value === null ? '–' : formatCount(value));

/** What each RPC endpoint can do, as an evaluator found it out, and what to change. */
export function OperatorChains() {
  const chains = useResource('GET /api/operator/chains', {});
  return html`
    <${PageHead} title="Chains" aside=${refreshButton(chains)}>
      <p class="sub">What evaluators found out about the endpoints of the chain file, at their start and once an hour.
        To check a file: <code>npm run admin -- chains check FILE</code>.</p>
    <//>
    ${loaded(chains, (list) =>
      list.length === 0
        ? html`<${Empty} title="No report yet"><p>Evaluators report some seconds after their start.</p><//>`
        : list.map(
            ({
              chainId,
              name,
              at,
              endpoints,
            }) => html`<${Card} key=${chainId} title=${name ? `${name} (${chainId})` : `Chain ${chainId}`}>
        <p class="sub">Checked <${Time} at=${at} /></p>
        <${Table} label=${`Endpoints of chain ${chainId}`} heads=${['Endpoint', 'State', 'Method', 'Proved', 'State proved', 'Archive', '#Reads in a call', '#Blocks of logs']}>
          ${endpoints.map(
            (one) => html`<tr key=${one.endpoint}>
              <th scope="row">${one.name ?? one.endpoint}</th>
              <td>${one.problems.length === 0 ? html`<${Badge} tone="good">Well<//>` : html`<${Badge} tone=${one.method ? 'warn' : 'bad'}>${one.method ? 'Limited' : 'Unusable'}<//>`}</td>
              <td>${one.method ?? '–'}</td><td>${yesNo(one.proved)}</td><td>${yesNo(one.state)}</td><td>${yesNo(one.archive)}</td>
              <td class="number">${figure(one.batchLimit)}</td><td class="number">${figure(one.logRange)}</td>
            </tr>`,
          )}<//>
        ${endpoints.flatMap(({ problems }) => problems).map((sentence) => html`<p key=${sentence} class="hint break">${sentence}</p>`)}
      <//>`,
          ),
    )}
  `;
}
