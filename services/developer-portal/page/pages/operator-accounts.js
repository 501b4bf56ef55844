import { ask } from '../core/api.js';
import { formatCount, formatPlural } from '../core/format.js';
import { html, useEffect, useState } from '../core/html.js';
import { useQuery } from '../core/router.js';
import { useResource } from '../core/use-resource.js';
import { useSubmit } from '../core/use-submit.js';
import { Dialog } from '../parts/dialog.js';
import { Field } from '../parts/field.js';
import { Form } from '../parts/form.js';
import { PageHead } from '../parts/page-head.js';
import { Badge, Empty, Loaded } from '../parts/states.js';
import { toast } from '../parts/toasts.js';

const TYPING_MS = 250;
const TIERS = ['free', 'paid', 'enterprise'];
/** What can be set for an enterprise account alone. */
const LIMITS = [
  ['requestsPerSecond', 'Requests per second', 1_000_000],
  ['requestsPerMonth', 'Checks per month', 1_000_000_000_000],
  ['clientApps', 'Client apps', 10_000],
  ['marketplaceKeys', 'Marketplace keys', 10_000],
  ['ruleSets', 'Rule sets of each app', 10_000],
  ['writesPerDay', 'Writes of each app in a day', 1_000_000_000_000],
];

/** All accounts, looked up by their address. */
export function OperatorAccounts() {
  const [{ query }, setQuery] = useQuery({ query: '' });
  const [text, setText] = useState(query);
  const [editing, setEditing] = useState(undefined);
  useEffect(() => {
    const timer = setTimeout(() => text.trim() !== query && setQuery({ query: text.trim() }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const accounts = useResource(`/api/operator/accounts${query ? `?${new URLSearchParams({ query })}` : ''}`);
  return html`
    <${PageHead} title="Accounts" />
    <${Field} label="Find by e-mail address" type="search" name="query" required maxlength="254" value=${text}
      onInput=${(event) => setText(event.target.value)} />
    <${Loaded} resource=${accounts}>${(list) =>
      list.length === 0
        ? html`<${Empty} title="No account"><p>None has such an address.</p><//>`
        : html`<ul class="rows">${list.map((one) => html`<${Row} key=${one.accountId} data=${one} onEdit=${() => setEditing(one)} />`)}</ul>`}<//>
    ${
      editing &&
      html`<${SetTier} data=${editing} onClose=${() => setEditing(undefined)} onDone=${() => {
        toast('Tier set');
        setEditing(undefined);
        accounts.reload();
      }} />`
    }
  `;
}

const Row = ({ data: { email, tier, operator, limits, apps }, onEdit }) => html`<li>
  <div class="grow"><p class="row-title break">${email}</p>
    <p class="sub">${formatPlural(apps, 'app')} · ${formatCount(limits.requestsPerSecond)} per second · ${formatCount(limits.requestsPerMonth)} per month</p></div>
  <div class="badges">${operator && html`<${Badge} tone="warn">Operator<//>`}<${Badge}>${tier}<//></div>
  <div class="row-actions"><button type="button" aria-label=${`Set tier of ${email}`} onClick=${onEdit}>Set tier</button></div>
</li>`;

function SetTier({ data, onClose, onDone }) {
  const [tier, setTier] = useState(data.tier);
  const send = (values) => {
    const given = LIMITS.filter(([name]) => tier === 'enterprise' && values[name]?.trim());
    const limits = Object.fromEntries(given.map(([name]) => [name, Number(values[name])]));
    const body = { tier, ...(given.length > 0 && { limits }) };
    return ask('POST', `/api/operator/accounts/${encodeURIComponent(data.accountId)}/tier`, { body });
  };
  const form = useSubmit(send, onDone);
  return html`<${Dialog} title="Set the tier" onClose=${onClose}>
    <${Form} form=${form} submit="Set tier" onCancel=${onClose}>
      <p class="sub break">${data.email}</p>
      <${Field} label="Tier" as="select" name="tier" value=${tier} onChange=${(event) => setTier(event.target.value)} fault=${form.faults['/tier']}>
        ${TIERS.map((name) => html`<option value=${name}>${name}</option>`)}
      <//>
      ${
        tier === 'enterprise' &&
        LIMITS.map(
          ([
            name,
            label,
            max,
          ]) => html`<${Field} key=${name} label=${label} name=${name} type="number" min="1" max=${max} step="1"
            defaultValue=${data.tier === 'enterprise' ? String(data.limits[name]) : ''} fault=${form.faults[`/limits/${name}`]} />`,
        )
      }
    <//>
  <//>`;
}
