import { formatCount, formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { usePages } from '../../lib/use-pages.js';
import { PageHead } from '../../ui/page-head.js';
import { Pages } from '../../ui/pages.js';
import { SearchField } from '../../ui/search-field.js';
import { Badge } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { ResetLink } from './reset-link.js';
import { SetTier } from './tier.js';

/** All accounts, searched by address. */
export function OperatorAccounts() {
  const [{ query }, setQuery] = useQuery({ query: '' });
  const [editing, setEditing] = useState(undefined);
  const [linking, setLinking] = useState(undefined);
  const pathOf = (after) => {
    const given = Object.entries({ query, after }).filter(([, value]) => value);
    return `/api/operator/accounts?${new URLSearchParams(given)}`;
  };
  const pages = usePages(
    pathOf,
    ({ accounts }) => accounts,
    ({ accountId }) => accountId,
  );
  return html`
    <${PageHead} title="Accounts" />
    <${SearchField} label="Find by e-mail address or account ID" value=${query} onSearch=${(text) => setQuery({ query: text })} />
    <${Pages} pages=${pages} empty="No account matches.">${(accounts) =>
      html`<ul class="rows">${accounts.map((one) => html`<${Row} key=${one.accountId} data=${one} onEdit=${() => setEditing(one)} onLink=${() => setLinking(one)} />`)}</ul>`}<//>
    ${linking && html`<${ResetLink} data=${linking} onClose=${() => setLinking(undefined)} />`}
    ${
      editing &&
      html`<${SetTier} data=${editing} onClose=${() => setEditing(undefined)} onDone=${() => {
        toast('Tier set');
        setEditing(undefined);
        pages.first.reload();
      }} />`
    }
  `;
}

const Row = ({ data: { accountId, email, tier, operator, limits, apps }, onEdit, onLink }) => html`<li>
  <div class="grow"><a class="row-link break" href=${`/operator/accounts/${encodeURIComponent(accountId)}`}>${email}</a>
    <p class="sub">${formatPlural(apps, 'app')} · ${formatCount(limits.requestsPerSecond)} per second · ${formatCount(limits.requestsPerMonth)} per month</p></div>
  <div class="badges">${operator && html`<${Badge} tone="warn">Operator<//>`}<${Badge}>${tier}<//></div>
  <div class="row-actions">
    ${!operator && html`<button type="button" aria-label=${`Reset password of ${email}`} onClick=${onLink}>Reset password</button>`}
    <button type="button" aria-label=${`Set tier of ${email}`} onClick=${onEdit}>Set tier</button>
  </div>
</li>`;
