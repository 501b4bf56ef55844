import { ask } from '../core/api.js';
import { formatCount } from '../core/format.js';
import { html, useState } from '../core/html.js';
import { useQuery } from '../core/router.js';
import { useResource } from '../core/use-resource.js';
import { Confirm } from '../parts/confirm.js';
import { PageHead } from '../parts/page-head.js';
import { Segments } from '../parts/segments.js';
import { Badge, Card, Empty, Loaded, ScopeBadge } from '../parts/states.js';
import { toast } from '../parts/toasts.js';

const FILTERS = [
  ['', 'All'],
  ['true', 'Suspended'],
  ['false', 'Active'],
];

/** All client apps; one can be suspended, and brought back. */
export function SuspendedApps() {
  const [{ suspended }, setQuery] = useQuery({ suspended: '' });
  const [asked, setAsked] = useState(undefined);
  const apps = useResource(`/api/operator/apps${suspended && `?suspended=${suspended}`}`);
  const done = () => {
    toast(`${asked.name} ${asked.suspended ? 'resumed' : 'suspended'}`);
    setAsked(undefined);
    apps.reload();
  };
  const send = () =>
    ask(
      'POST',
      `/api/operator/apps/${encodeURIComponent(asked.clientId)}/${asked.suspended ? 'resume' : 'suspend'}`,
    );
  return html`
    <${PageHead} title="Apps" aside=${html`<${Segments} label="Which apps" options=${FILTERS} value=${suspended} onChange=${(value) => setQuery({ suspended: value })} />`} />
    <${Loaded} resource=${apps}>${(list) =>
      list.length === 0
        ? html`<${Empty} title="No app"><p>None matches.</p><//>`
        : html`<ul class="rows">${list.map(
            (one) => html`<li key=${one.clientId}>
          <div class="grow"><p class="row-title break">${one.name}</p><p class="sub break">${one.email} · <code>${one.clientId}</code></p></div>
          <div class="badges">${one.suspended && html`<${Badge} tone="bad">Suspended<//>`}<${ScopeBadge} state=${one.scope.state} /><${Badge}>${one.tier}<//></div>
          <div class="row-actions"><button type="button" aria-label=${`${one.suspended ? 'Resume' : 'Suspend'} ${one.name}`}
            onClick=${() => setAsked(one)}>${one.suspended ? 'Resume' : 'Suspend'}</button></div>
        </li>`,
          )}</ul>`}<//>
    ${
      asked &&
      html`<${Confirm} title=${`${asked.suspended ? 'Resume' : 'Suspend'} “${asked.name}”?`} action=${asked.suspended ? 'Resume' : 'Suspend'}
        send=${send} onDone=${done} onClose=${() => setAsked(undefined)}>
        <p>${asked.suspended ? 'Its keys work again within a second.' : 'All its requests are answered with 403 until it is resumed.'}</p>
      <//>`
    }
  `;
}

/** How much each topic could not work. What to do about it is the command's. */
export function DeadLetters() {
  const letters = useResource('/api/operator/dead-letters');
  return html`
    <${PageHead} title="Dead letters" aside=${html`<button type="button" onClick=${letters.reload}>Refresh</button>`}>
      <p class="sub">Records that could not be worked. Look at them with <code>npm run admin -- dead-letter list TOPIC</code>.</p>
    <//>
    <${Loaded} resource=${letters}>${(list) => html`<${Card}>${
      list.every(({ count }) => count === 0) && html`<p class="notice good">No topic has one.</p>`
    }<div class="scroll" tabindex="0" role="region" aria-label="Dead letters by topic"><table>
      <thead><tr><th scope="col">Topic</th><th scope="col" class="number">Waiting</th></tr></thead>
      <tbody>${list.map(({ topic, count }) => html`<tr key=${topic}><th scope="row"><code>${topic}</code></th><td class="number">${formatCount(count)}</td></tr>`)}</tbody>
    </table></div><//>`}<//>
  `;
}
