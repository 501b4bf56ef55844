import { type App, sends } from '../../lib/api.ts';
import { formatCount } from '../../lib/format.ts';
import { html } from '../../lib/html.ts';
import { navigate } from '../../lib/router.ts';
import { useApp, useSession } from '../../lib/session.ts';
import { Confirm, Field, openDialog, SendForm } from '../../ui/form.ts';
import { Card, DangerZone, PageHead } from '../../ui/page.ts';
import { toast } from '../../ui/toasts.ts';
import { Facts } from '../../ui/values.ts';

export function Settings() {
  const { app, clientId, reload, may } = useApp();
  const { account } = useSession();
  const params = { clientId };
  const saved = (textOf: (app: App) => string) => (changed: App) => {
    toast(textOf(changed));
    reload();
  };
  const setAlerts = sends('PUT /api/apps/:clientId/alerts', params, ({ callbackUrl }) => ({
    callbackUrl: callbackUrl.trim() || null,
  }));
  const setDomains = sends('PUT /api/apps/:clientId/domains', params, ({ domains }) => ({
    domains: domains.split(/[\s,]+/).filter(Boolean),
  }));
  const destroy = () =>
    openDialog(html`<${Confirm} after=${() => navigate('/apps')} title="Delete this app?" action="Delete app" typed=${app.name}
        send=${sends('DELETE /api/apps/:clientId', params)} said="App deleted">
        <p>All keys of <strong class="break">${app.name}</strong> stop working within a second, 30 seconds at worst.</p>
      <//>`);
  return html`
    <${PageHead} title="Settings" />
    <${Setting} title="Name" may=${may('renameApp')} text=${html`<p class="break">${app.name}</p>`} submit="Rename"
      send=${sends('PATCH /api/apps/:clientId', params)} onDone=${saved(() => 'App renamed')}>
      <${Field} label="Name" name="name" required maxlength="64" defaultValue=${app.name} />
    <//>
    <${Setting} title="Quota alerts" may=${may('setAlerts')} text=${html`<p class="mono break">${app.alertUrl ?? 'No alerts'}</p>`}
      intro=${html`A signed webhook, <code>quota.threshold</code>, is sent once a month when 80 % of the quota is used, and once at 100 %.`}
      submit="Save alerts" label="Quota alerts" send=${setAlerts}
      onDone=${saved(({ alertUrl }) => (alertUrl === undefined ? 'Alerts are off' : 'Alerts are on'))}>
      <${Field} label="Alert URL" name="callbackUrl" class="mono-input" maxlength="2048" placeholder="https://example.com/hooks"
        defaultValue=${app.alertUrl ?? ''} hint="Empty: no alerts." />
    <//>
    <${Setting} title="Sign-in domains" may=${may('setDomains')} text=${html`<p class="mono break">${app.domains.join(', ') || 'No domains'}</p>`}
      intro="A sign-in message proves a wallet to one domain: the host of the page that asks for it, with its port if that is not the default one."
      submit="Save domains" label="Sign-in domains" send=${setDomains}
      onDone=${saved(({ domains }) => (domains.length === 0 ? 'Signing in is off' : 'Domains saved'))}>
      <${Field} label="Domains" name="domains" as="textarea" rows="3" class="mono-input" spellcheck=${false}
        placeholder="shop.example" defaultValue=${app.domains.join('\n')}
        hint="One a line, at most 20. Empty: nobody can sign in." />
    <//>
    <${Card} title="Limits"><${Facts} pairs=${[
      ['Tier', app.role === 'owner' && html`<span class="capital">${account.tier}</span>`],
      ['Requests per second', formatCount(app.limits.requestsPerSecond)],
      ['Checks per month', formatCount(app.limits.requestsPerMonth)],
    ]} /><//>
    ${
      may('deleteApp') &&
      html`<${DangerZone} title="Delete this app" action="Delete app…" onClick=${destroy}>
        Its keys stop working at once. Webhooks of accepted checks are sent for two more days. This cannot be undone.
      <//>`
    }
  `;
}

/** The form of a setting, and its `text` for those who may not change it. */
const Setting = ({ title, intro, may, text, children, ...form }) => html`<${Card} title=${title}>
  ${intro && html`<p class="prose">${intro}</p>`}
  ${may ? html`<${SendForm} ...${form}>${children}<//>` : text}
<//>`;
