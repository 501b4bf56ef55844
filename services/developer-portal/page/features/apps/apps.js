import { ask } from '../../lib/api.js';
import { formatDate, formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { keepKey } from '../../lib/kept-keys.js';
import { navigate } from '../../lib/router.js';
import { useSession } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { SecretsShown } from '../../ui/secrets-shown.js';
import { Badge, Empty, Loaded, ScopeBadge } from '../../ui/states.js';

/** All client apps of the account, and where a new one is made. */
export function Apps() {
  const { account } = useSession();
  const apps = useResource('/api/apps');
  const [isCreating, setIsCreating] = useState(false);
  const create = html`<button type="button" class="primary" onClick=${() => setIsCreating(true)}>Create app</button>`;
  return html`
    <${PageHead} title="Your apps" aside=${apps.value?.length > 0 && create}>
      ${
        apps.value?.length > 0 &&
        html`<p class="sub">${apps.value.filter(({ role }) => role === 'owner').length} of ${formatPlural(account.limits.clientApps, 'app')} in the ${account.tier} tier</p>`
      }
    <//>
    <${Loaded} resource=${apps}>${(list) =>
      list.length === 0 ? html`<${NoApps} create=${create} />` : html`<${AppList} apps=${list} />`}<//>
    ${isCreating && html`<${CreateApp} onClose=${() => setIsCreating(false)} />`}
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

const AppList = ({ apps }) => html`<ul class="rows app-rows">
  ${apps.map(
    ({ clientId, name, role, createdAt, suspended, scope, keyCount }) => html`<li key=${clientId}>
      <div class="grow">
        <a class="row-link" href=${`/apps/${encodeURIComponent(clientId)}`}>${name}</a>
        <p class="sub"><code>${clientId}</code></p>
      </div>
      <div class="badges">${role !== 'owner' && html`<${Badge}>You: ${role}<//>`}${suspended && html`<${Badge} tone="bad">Suspended<//>`}<${ScopeBadge} state=${scope.state} /></div>
      <p class="sub facts">${formatPlural(keyCount, 'key')} · since ${formatDate(createdAt)}</p>
    </li>`,
  )}
</ul>`;

/** Asks for a name, then shows the secrets once, then goes to the app's own page. */
function CreateApp({ onClose }) {
  const [made, setMade] = useState(undefined);
  const form = useSubmit(
    (body, idempotencyKey) => ask('POST', '/api/apps', { body, idempotencyKey }),
    (app) => {
      keepKey(app.clientId, app.apiKey);
      setMade(app);
    },
  );
  if (made)
    return html`<${Dialog} key="made" title=${`${made.name} is ready`}>
      <${SecretsShown}
        secrets=${[
          ['Client ID', made.clientId],
          ['API key', made.apiKey],
          ['Webhook secret', made.webhookSecret],
        ]}
        note="The client ID can be seen again at any time; key and secret cannot."
        onDone=${() => navigate(`/apps/${encodeURIComponent(made.clientId)}/quickstart`)} />
    <//>`;
  return html`<${Dialog} key="ask" title="Create an app" onClose=${onClose}>
    <${Form} form=${form} submit="Create app" onCancel=${onClose}>
      <${Field} label="Name" name="name" required maxlength="64" autofocus
        hint="For you and the operators; your users do not see it." fault=${form.faults['/name']} />
    <//>
  <//>`;
}
