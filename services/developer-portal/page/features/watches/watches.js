import { formatPlural } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Empty, Loaded } from '../../ui/states.js';

const STATES = { active: ['good', 'Active'], paused: ['quiet', 'Paused'], held: ['bad', 'Revocations held'] };

export const WatchBadge = ({ state }) => {
  const [tone, text] = STATES[state] ?? ['quiet', state];
  return html`<${Badge} tone=${tone}>${text}<//>`;
};

/** The watches of the app. */
export function Watches() {
  const { api, base } = useApp();
  const resource = useResource(`${api}/watches`);
  return html`
    <${PageHead} title="Watches" aside=${html`<button type="button" onClick=${resource.reload}>Refresh</button>`}>
      <p class="sub">A watch checks its members and sends a webhook when their roles change. Make one by the API.</p>
    <//>
    <${Card}>
      <${Loaded} resource=${resource}>${({ watches }) =>
        watches.length === 0
          ? html`<${Empty} title="No watches yet"><p>Make one with <code>PUT /access-control/watches/{id}</code>.</p><//>`
          : html`<div class="scroll" tabindex="0" role="region" aria-label="Watches"><table>
              <thead><tr><th scope="col">Watch</th><th scope="col">State</th><th scope="col">Members</th>
                <th scope="col">Rule set</th></tr></thead>
              <tbody>${watches.map(
                (watch) => html`<tr key=${watch.watchId}>
                  <td><a href=${`${base}/watches/${encodeURIComponent(watch.watchId)}`}>${watch.watchId}</a></td>
                  <td><${WatchBadge} state=${watch.state} /></td>
                  <td>${formatPlural(watch.members, 'member', 'members')}</td>
                  <td><code>${watch.ruleSet}</code></td>
                </tr>`,
              )}</tbody></table></div>`}<//>
    <//>
  `;
}
