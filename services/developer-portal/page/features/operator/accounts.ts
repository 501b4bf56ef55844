import { type Answer, type Limits, sends } from '../../lib/api.ts';
import { formatCount, formatDate, formatMinute, formatPlural } from '../../lib/format.ts';
import { html, useState } from '../../lib/html.ts';
import { usePages, useResource } from '../../lib/resources.ts';
import { useQuery } from '../../lib/router.ts';
import { useMayChange } from '../../lib/session.ts';
import { Identifier } from '../../ui/copy.ts';
import { Confirm, Field, FormDialog, MakeSecrets, openDialog, SearchField } from '../../ui/form.ts';
import { Card, Empty, loadedPage, Paged, PageHead } from '../../ui/page.ts';
import { Badge, Facts, LIMITS, limitPairs, Rows } from '../../ui/values.ts';
import { AppBadges } from './apps.ts';
import { RecentAudit } from './audit.ts';

type OpenAccount = Answer<'GET /api/operator/accounts/:accountId'>;

const TIERS = ['free', 'paid', 'enterprise'];

export function OperatorAccounts() {
  const [{ query }, setQuery] = useQuery({ query: '' });
  const pages = usePages('GET /api/operator/accounts', {}, 'accounts', { query }, 'accountId');
  return html`
    <${PageHead} title="Accounts" />
    <${SearchField} label="Find by e-mail address or account ID" value=${query} onSearch=${(text) => setQuery({ query: text })} />
    <${Paged} of=${pages} empty=${html`<${Empty} title="Nothing found"><p>No account matches.</p><//>`}><ul class="rows">${pages.rows.map(
      ({ accountId, email, tier, operator, limits, apps }) => html`<li key=${accountId}>
        <div class="grow"><a class="row-link break" href=${`/operator/accounts/${encodeURIComponent(accountId)}`}>${email}</a>
          <p class="sub">${formatPlural(apps, 'app')} · ${formatCount(limits.requestsPerSecond)} per second · ${formatCount(limits.requestsPerMonth)} per month</p></div>
        <div class="badges">${operator && html`<${Badge} tone="warn">Operator<//>`}<${Badge}>${tier}<//></div>
      </li>`,
    )}</ul><//>
  `;
}

export function OperatorAccount({ item }) {
  const resource = useResource('GET /api/operator/accounts/:accountId', { accountId: item });
  const mayChange = useMayChange();
  return loadedPage(resource, 'Account', (account) => {
    const { accountId, email, tier, operator, verified, twoFactor, limits, clientApps } = account;
    const resetTwoFactor = () =>
      openDialog(html`<${Confirm} after=${resource.reload} title="Reset two-factor authentication?" action="Reset"
            said="Two-factor authentication reset"
            send=${sends('POST /api/operator/accounts/:accountId/two-factor/reset', { accountId })}>
            <p class="break">After that, the password alone is enough to sign in to ${email}. Its sessions end. Make sure that the owner of the account asks for this.</p>
          <//>`);
    const actions = html`
        ${!operator && html`<button type="button" onClick=${() => openDialog(drawResetLink(account, resource.reload))}>Reset password</button>`}
        ${!operator && twoFactor && html`<button type="button" onClick=${resetTwoFactor}>Reset two-factor</button>`}
        <button type="button" onClick=${() => openDialog(html`<${SetTier} after=${resource.reload} data=${account} />`)}>Set tier</button>`;
    return html`
      <${PageHead} title=${email} aside=${mayChange && actions}>
        <p class="badges"><${Identifier} value=${accountId} what="Account ID" />
          <${Badge}>${tier}<//>${operator && html`<${Badge} tone="warn">Operator<//>`}
          ${!verified && html`<${Badge} tone="warn">Not verified<//>`}</p>
      <//>
      <div class="two">
        <${Card} title="Account"><${Facts} pairs=${[
          ['Since', formatDate(account.createdAt)],
          ['Verified', verified ? 'By an operator' : 'No: signed up by itself'],
          ['Two-factor', twoFactor ? `On since ${formatDate(twoFactor.enabledAt)}` : 'Off'],
          ['Open sessions', formatCount(account.sessions)],
          ['Client apps', formatCount(account.apps)],
          ['Checks this month', formatCount(clientApps.reduce((sum, { month }) => sum + month.used, 0))],
        ]} /><//>
        <${Card} title="Limits"><${Facts} pairs=${limitPairs(limits)} /><//>
      </div>
      <${Card} title="Apps">
        <${Rows} class="inner" empty=${html`<${Empty} title="No app"><p>This account has not made one.</p><//>`}>${clientApps.map(
          (app) => html`<li key=${app.clientId}>
            <div class="grow"><a class="row-link break" href=${`/operator/apps/${encodeURIComponent(app.clientId)}`}>${app.name}</a>
              <p class="sub"><code>${app.clientId}</code></p></div>
            <div class="badges"><${AppBadges} app=${app} /></div>
            <p class="sub facts">${formatCount(app.month.used)} of ${formatPlural(app.month.quota, 'check')} this month</p>
          </li>`,
        )}<//>
        ${account.apps > clientApps.length && html`<p class="sub">The oldest ${clientApps.length} of ${formatCount(account.apps)}.</p>`}
      <//>
      <${RecentAudit} filters=${{ account: item }} after=${account} />`;
  });
}

const drawResetLink = ({ accountId, email }: OpenAccount, after) => html`<${MakeSecrets} after=${after}
  title="Make a link for a new password?" submit="Make link"
  send=${sends('POST /api/operator/accounts/:accountId/reset-link', { accountId })}
  show=${({ token, expiresAt }) => ({
    title: 'Link for a new password',
    secrets: [['Link', `${location.origin}/reset-password#${token}`]],
    note: `It works once, until ${formatMinute(expiresAt)}. Send it to ${email} only.`,
  })}>
  <p class="prose break">Anyone with the link can take over the account ${email}, so send it only to its owner. An earlier link stops working.</p>
<//>`;

/** Sets the tier of an account, and the limits of an enterprise account. The name of a limit's
 * field is the pointer of its faults, the page's and the server's. */
function SetTier({ data, after }: { data: OpenAccount; after: () => void }) {
  const { accountId, email, tier: current, limits } = data;
  const [tier, setTier] = useState(current);
  const send = sends('POST /api/operator/accounts/:accountId/tier', { accountId }, (values) => {
    const given = Object.keys(LIMITS).filter((name) => values[`limits/${name}`]?.trim());
    const own = Object.fromEntries(given.map((name) => [name, Number(values[`limits/${name}`])]));
    return { tier: values.tier, ...(given.length > 0 && { limits: own }) };
  });
  return html`<${FormDialog} after=${after} title="Set the tier" submit="Set tier" said="Tier set" send=${send}>
    <p class="sub break">${email}</p>
    <${Field} label="Tier" name="tier" choices=${TIERS} value=${tier} onChange=${(event) => setTier(event.target.value)} />
    ${
      tier === 'enterprise' &&
      html`<p class="hint">A limit that is left empty is the tier's default.</p>
        ${Object.entries(LIMITS).map(
          ([name, label]) => html`<${Field}
            key=${name} label=${label} name=${`limits/${name}`} type="number" step="1"
            defaultValue=${current === 'enterprise' ? String(limits[name as keyof Limits]) : ''} />`,
        )}`
    }
  <//>`;
}
