import { sends } from '../../lib/api.ts';
import { formatDate, formatPlural } from '../../lib/format.ts';
import { html } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { navigate } from '../../lib/router.ts';
import { keptKeys, useSession } from '../../lib/session.ts';
import { Field, MakeSecrets, openDialog } from '../../ui/form.ts';
import { Empty, loaded, PageHead } from '../../ui/page.ts';
import { Badge, Rows, StateBadge } from '../../ui/values.ts';

export function Apps() {
  const { account } = useSession();
  const apps = useResource('GET /api/apps', {});
  const create = html`<button type="button" class="primary" onClick=${() => openDialog(html`<${Creation} />`)}>Create app</button>`;
  const hasApps = (apps.value?.length ?? 0) > 0;
  return html`
    <${PageHead} title="Your apps" aside=${hasApps && create}>
      ${hasApps && html`<p class="sub">${apps.value?.filter(({ role }) => role === 'owner').length} of ${formatPlural(account.limits.clientApps, 'app')} in the ${account.tier} tier</p>`}
    <//>
    ${loaded(
      apps,
      (list) =>
        html`<${Rows} class="app-rows" empty=${html`<${NoApps} create=${create} />`}>${list.map(
          ({ clientId, name, role, createdAt, suspended, scope, keyCount }) => html`<li key=${clientId}>
          <div class="grow">
            <a class="row-link" href=${`/apps/${encodeURIComponent(clientId)}`}>${name}</a>
            <p class="sub"><code>${clientId}</code></p>
          </div>
          <div class="badges">${role !== 'owner' && html`<${Badge}>You: ${role}<//>`}${suspended && html`<${Badge} tone="bad">Suspended<//>`}<${StateBadge} of="scope" state=${scope.state} /></div>
          <p class="sub facts">${formatPlural(keyCount, 'key')} · since ${formatDate(createdAt)}</p>
        </li>`,
        )}<//>`,
    )}
  `;
}

const NoApps = ({ create }) => html`<${Empty} title="Create your first app">
  <p>An app calls Rolecall. It has API keys, limits, and a secret that signs its webhooks.</p>
  <ol class="steps">
    <li><strong>Create an app</strong> and store its key.</li>
    <li><strong>Request the scope</strong> with a sentence on what you are building.</li>
    <li><strong>Make a check</strong>, here or from your code.</li>
  </ol>
  ${create}
<//>`;

const Creation = () => html`<${MakeSecrets} title="Create an app" submit="Create app"
  send=${sends('POST /api/apps', {})}
  onMade=${(app) => keptKeys.set(app.clientId, app.apiKey)}
  onDone=${(app) => navigate(`/apps/${encodeURIComponent(app.clientId)}/quickstart`)}
  show=${(app) => ({
    title: `${app.name} is ready`,
    secrets: [
      ['Client ID', app.clientId],
      ['API key', app.apiKey],
      ['Webhook secret', app.webhookSecret],
    ],
    note: 'The client ID can be seen again at any time; key and secret cannot.',
  })}>
  <${Field} label="Name" name="name" required maxlength="64" autofocus hint="For you and the operators; your users do not see it." />
<//>`;
