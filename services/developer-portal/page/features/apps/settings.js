import { ask } from '../../lib/api.js';
import { formatCount } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { navigate } from '../../lib/router.js';
import { useApp, useSession } from '../../lib/session.js';
import { Confirm, Field, SendForm, useDialog } from '../../ui/form.js';
import { Card, PageHead } from '../../ui/page.js';
import { toast } from '../../ui/toasts.js';
import { Facts } from '../../ui/values.js';

/** @import { App } from '../../lib/types.ts' */

/** Name, address for alerts, limits, and the end of the app. */
export function Settings() {
  const { app, clientId, reload, may } = useApp();
  const { account } = useSession();
  const params = { clientId };
  const [dialog, open] = useDialog(() => navigate('/apps'));
  /** @param {(app: App) => string} textOf */
  const saved = (textOf) => (/** @type {App} */ changed) => {
    toast(textOf(changed));
    reload();
  };
  const setAlerts = ({ callbackUrl }) =>
    ask('PUT /api/apps/:clientId/alerts', { params, body: { callbackUrl: callbackUrl.trim() || null } });
  /** @param {{ domains: string }} values */
  const setDomains = ({ domains }) => {
    const named = domains.split(/[\s,]+/).filter((domain) => domain !== '');
    return ask('PUT /api/apps/:clientId/domains', { params, body: { domains: named } });
  };
  const destroy = () =>
    open(html`<${Confirm} title="Delete this app?" action="Delete app" typed=${app.name}
        send=${() => ask('DELETE /api/apps/:clientId', { params })} said="App deleted">
        <p>All keys of <strong class="break">${app.name}</strong> stop working within a second.</p>
      <//>`);
  return html`
    <${PageHead} title="Settings" />
    <${Card} title="Name">${
      may('renameApp')
        ? html`<${SendForm} submit="Rename" onDone=${saved(() => 'App renamed')}
            send=${(body) => ask('PATCH /api/apps/:clientId', { params, body })}>
            <${Field} label="Name" name="name" required maxlength="64" defaultValue=${app.name} />
          <//>`
        : html`<p class="break">${app.name}</p>`
    }<//>
    <${Card} title="Quota alerts">
      <p class="prose">A signed webhook, <code>quota.threshold</code>, is sent once a month when 80 % of the quota is used, and once at 100 %.</p>
      ${
        may('setAlerts')
          ? html`<${SendForm} submit="Save alerts" label="Quota alerts" send=${setAlerts}
              onDone=${saved(({ alertUrl }) => (alertUrl === undefined ? 'Alerts are off' : 'Alerts are on'))}>
              <${Field} label="Alert URL" name="callbackUrl" class="mono-input" maxlength="2048" placeholder="https://example.com/hooks"
                defaultValue=${app.alertUrl ?? ''} hint="Empty: no alerts." />
            <//>`
          : html`<p class="mono break">${app.alertUrl ?? 'No alerts'}</p>`
      }
    <//>
    <${Card} title="Sign-in domains">
      <p class="prose">A sign-in message proves a wallet to one domain: the host of the page that asks for it, with its port if that is not the default one.</p>
      ${
        may('setDomains')
          ? html`<${SendForm} submit="Save domains" label="Sign-in domains" send=${setDomains}
              onDone=${saved(({ domains }) => (domains.length === 0 ? 'Signing in is off' : 'Domains saved'))}>
              <${Field} label="Domains" name="domains" as="textarea" rows="3" class="mono-input" spellcheck=${false}
                placeholder="shop.example" defaultValue=${app.domains.join('\n')}
                hint="One a line, at most 20. Empty: nobody can sign in." />
            <//>`
          : html`<p class="mono break">${app.domains.join(', ') || 'No domains'}</p>`
      }
    <//>
    <${Card} title="Limits"><${Facts} pairs=${[
      ['Tier', app.role === 'owner' && html`<span class="capital">${account.tier}</span>`],
      ['Requests per second', formatCount(app.limits.requestsPerSecond)],
      ['Checks per month', formatCount(app.limits.requestsPerMonth)],
    ]} /><//>
    ${
      may('deleteApp') &&
      html`<${Card} title="Delete this app" class="danger-zone">
        <p class="prose">Its keys stop working at once. Webhooks of accepted checks are sent for two more days. This cannot be undone.</p>
        <button type="button" class="danger" onClick=${destroy}>Delete app…</button>
      <//>`
    }
    ${dialog}
  `;
}
