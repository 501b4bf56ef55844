import { ask } from '../../lib/api.js';
import { formatCount, formatDate, formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useResource } from '../../lib/use-resource.js';
import { Confirm } from '../../ui/confirm.js';
import { Identifier } from '../../ui/copy.js';
import { Facts, limitPairs } from '../../ui/facts.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Empty, Loaded } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { Missing } from '../frame/missing.js';
import { AppBadges } from './apps.js';
import { RecentAudit } from './audit.js';
import { ResetLink } from './reset-link.js';
import { SetTier } from './tier.js';

/** One account as operators see it: its state, its limits, its apps with this month's checks, its last changes. */
export function OperatorAccount({ item }) {
  const resource = useResource(`/api/operator/accounts/${encodeURIComponent(item)}`);
  const [open, setOpen] = useState(undefined);
  const [round, setRound] = useState(0);
  const close = () => setOpen(undefined);
  const done = (text) => () => {
    toast(text);
    close();
    resource.reload();
    setRound(round + 1);
  };
  if (resource.error?.status === 404) return html`<${Missing} />`;
  return html`<${Loaded} resource=${resource} title="Account">${(account) => html`
    <${PageHead} title=${account.email} aside=${html`
      ${!account.operator && html`<button type="button" onClick=${() => setOpen('link')}>Reset password</button>`}
      ${!account.operator && account.twoFactor && html`<button type="button" onClick=${() => setOpen('two-factor')}>Reset two-factor</button>`}
      <button type="button" onClick=${() => setOpen('tier')}>Set tier</button>`}>
      <p class="badges"><${Identifier} value=${account.accountId} what="Account ID" />
        <${Badge}>${account.tier}<//>${account.operator && html`<${Badge} tone="warn">Operator<//>`}
        ${!account.verified && html`<${Badge} tone="warn">Not verified<//>`}</p>
    <//>
    <div class="two">
      <${Card} title="Account"><${Facts} pairs=${[
        ['Since', formatDate(account.createdAt)],
        ['Verified', account.verified ? 'By an operator' : 'No: signed up by itself'],
        ['Two-factor', account.twoFactor ? `On since ${formatDate(account.twoFactor.enabledAt)}` : 'Off'],
        ['Open sessions', formatCount(account.sessions)],
        ['Client apps', formatCount(account.apps)],
        [
          'Checks this month',
          formatCount(account.clientApps.reduce((sum, { month }) => sum + month.used, 0)),
        ],
      ]} /><//>
      <${Card} title="Limits"><${Facts} pairs=${limitPairs(account.limits)} /><//>
    </div>
    <${Card} title="Apps"><${Apps} account=${account} /><//>
    <${RecentAudit} key=${round} filters=${{ account: account.accountId }} />
    ${open === 'link' && html`<${ResetLink} data=${account} onClose=${close} />`}
    ${
      open === 'two-factor' &&
      html`<${Confirm} title="Reset two-factor authentication?" action="Reset" onClose=${close} onDone=${done('Two-factor authentication reset')}
        send=${() => ask('POST', `/api/operator/accounts/${encodeURIComponent(account.accountId)}/two-factor/reset`)}>
        <p class="break">After that, the password alone is enough to sign in to ${account.email}. Its sessions end. Make sure that the owner of the account asks for this.</p>
      <//>`
    }
    ${open === 'tier' && html`<${SetTier} data=${account} onClose=${close} onDone=${done('Tier set')} />`}
  `}<//>`;
}

const Apps = ({ account: { apps, clientApps } }) => html`
  ${
    clientApps.length === 0
      ? html`<${Empty} title="No app"><p>This account has not made one.</p><//>`
      : html`<ul class="rows inner">${clientApps.map(
          (app) => html`<li key=${app.clientId}>
            <div class="grow"><a class="row-link break" href=${`/operator/apps/${encodeURIComponent(app.clientId)}`}>${app.name}</a>
              <p class="sub"><code>${app.clientId}</code></p></div>
            <div class="badges"><${AppBadges} app=${app} /></div>
            <p class="sub facts">${formatCount(app.month.used)} of ${formatPlural(app.month.quota, 'check')} this month</p>
          </li>`,
        )}</ul>`
  }
  ${apps > clientApps.length && html`<p class="sub">The oldest ${clientApps.length} of ${formatCount(apps)}.</p>`}
`;
