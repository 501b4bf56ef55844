import { type Answer, sends } from '../../lib/api.ts';
import { formatCount } from '../../lib/format.ts';
import { html } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { useMayChange, useSession } from '../../lib/session.ts';
import { Field, FormDialog, openDialog, SendButton } from '../../ui/form.ts';
import { Card, Empty, focusPageHead, loaded, Missing, PageHead, refreshButton } from '../../ui/page.ts';
import { Badge, Table, Time } from '../../ui/values.ts';
import { findPageOf, Menu, type Section } from '../apps/app.ts';
import { OperatorAccount, OperatorAccounts } from './accounts.ts';
import { OperatorApp, OperatorApps } from './apps.ts';
import { OperatorAudit } from './audit.ts';

const SECTIONS: Section[] = [
  { path: '', name: 'Scope requests', page: ScopeQueue },
  { path: 'accounts', name: 'Accounts', page: OperatorAccounts, item: OperatorAccount },
  { path: 'apps', name: 'Apps', page: OperatorApps, item: OperatorApp },
  { path: 'audit', name: 'Audit', page: OperatorAudit },
  { path: 'chains', name: 'Chains', page: OperatorChains },
];

export function Operator({ section = '', item }) {
  const { account } = useSession();
  const found = findPageOf(SECTIONS, section, item);
  if (!account.operator || !found) return html`<${Missing} />`;
  return html`<div class="app-body">
    <${Menu} label="Operator’s pages" base="/operator" section=${section} sections=${SECTIONS} />
    <div class="app-page"><${found.page} key=${`${section}/${item}`} item=${item} /></div>
  </div>`;
}

const yesNo = (is: boolean | null) => (is === null ? '–' : is ? 'yes' : 'no');
const figure = (value: number | null) => (value === null ? '–' : formatCount(value));

function OperatorChains() {
  const chains = useResource('GET /api/operator/chains', {});
  return html`
    <${PageHead} title="Chains" aside=${refreshButton(chains)}>
      <p class="sub">What evaluators found out about the endpoints of the chain file, at their start and once an hour.
        To check a file: <code>npm run admin -- chains check FILE</code>.</p>
    <//>
    ${loaded(chains, (list) =>
      list.length === 0
        ? html`<${Empty} title="No report yet"><p>Evaluators report some seconds after their start.</p><//>`
        : list.map(({ chainId, name, at, endpoints }) => {
            const title = name ? `${name} (${chainId})` : `Chain ${chainId}`;
            return html`<${Card} key=${chainId} title=${title}>
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
      <//>`;
          }),
    )}
  `;
}

type ScopeRequest = Answer<'GET /api/operator/scope-requests'>[number];

function ScopeQueue() {
  const requests = useResource('GET /api/operator/scope-requests', {});
  const mayChange = useMayChange();
  const decided = () => {
    focusPageHead();
    requests.reload();
  };
  const reject = ({ clientId, name }: ScopeRequest) =>
    openDialog(html`<${FormDialog} after=${decided} title=${`Reject “${name}”`} submit="Reject" tone="danger"
        send=${sends('POST /api/operator/apps/:clientId/reject', { clientId })} said=${`${name} rejected`}>
        <${Field} label="Reason" as="textarea" name="reason" rows="4" required maxlength="500" autofocus
          hint="The developer reads this, and may ask again." />
      <//>`);
  return html`
    <${PageHead} title="Scope requests" aside=${refreshButton(requests)} />
    ${loaded(requests, (list) =>
      list.length === 0
        ? html`<${Empty} title="No open requests"><p>New requests for the token-gating scope appear here.</p><//>`
        : list.map((one) => {
            const { clientId, name, email, requestedAt, purpose } = one;
            const actions = html`<div class="actions">
              <button type="button" class="danger-quiet" aria-label=${`Reject ${name}`} onClick=${() => reject(one)}>Reject…</button>
              <${SendButton} class="primary" aria-label=${`Approve ${name}`} said=${`${name} approved`} onDone=${decided}
                send=${sends('POST /api/operator/apps/:clientId/approve', { clientId })}>Approve<//>
            </div>`;
            return html`<${Card} key=${clientId} class="request">
              <h2 class="row-title break">${name}</h2>
              <p class="sub facts"><span class="break">${email}</span><span><code>${clientId}</code></span><span>asked <${Time} at=${requestedAt} /></span></p>
              <p class="notice quoted">${purpose}</p>
              ${mayChange && actions}
            <//>`;
          }),
    )}
  `;
}
