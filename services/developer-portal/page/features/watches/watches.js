import { formatPlural } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { useApp } from '../../lib/session.js';
import { Card, Empty, loaded, PageHead, refreshButton } from '../../ui/page.js';
import { Badge, StateBadge, Table } from '../../ui/values.js';

/** The watches of the app. */
export function Watches() {
  const { clientId, base } = useApp();
  const resource = useResource('GET /api/apps/:clientId/watches', { clientId });
  return html`
    <${PageHead} title="Watches" aside=${refreshButton(resource)}>
      <p class="sub">A watch checks its members and sends a webhook when their roles change. Make one by the API.</p>
    <//>
    <${Card}>${loaded(resource, ({ watches }) =>
      watches.length === 0
        ? html`<${Empty} title="No watches yet"><p>Make one with <code>PUT /access-control/watches/{id}</code>.</p><//>`
        : html`<${Table} label="Watches" heads=${['Watch', 'State', 'Members', 'Rule set']}>${watches.map(
            ({ watchId, state, members, ruleSet, stalled = [] }) => html`<tr key=${watchId}>
              <td><a href=${`${base}/watches/${encodeURIComponent(watchId)}`}>${watchId}</a></td>
              <td><${StateBadge} of="watch" state=${state} />
                ${stalled.length > 0 && html` <${Badge} tone="warn">Stalled: chain ${stalled.map(({ chainId }) => chainId).join(', ')} cannot be read<//>`}</td>
              <td>${formatPlural(members, 'member')}</td>
              <td><code>${ruleSet}</code></td>
            </tr>`,
          )}<//>`,
    )}<//>
  `;
}
