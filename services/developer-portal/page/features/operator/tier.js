import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Dialog } from '../../ui/dialog.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';

const TIERS = ['free', 'paid', 'enterprise'];
/** The limits that can be set for enterprise accounts only. */
const LIMITS = [
  ['requestsPerSecond', 'Requests per second', 1_000_000],
  ['requestsPerMonth', 'Checks per month', 1_000_000_000_000],
  ['clientApps', 'Client apps', 10_000],
  ['marketplaceKeys', 'Marketplace keys', 10_000],
  ['ruleSets', 'Rule sets of each app', 10_000],
  ['watches', 'Watches of each app', 10_000],
  ['watchMembers', 'Members of all watches of each app', 10_000_000],
  ['writesPerDay', 'Writes of each app in a day', 1_000_000_000_000],
];

/** The name of a limit's field: its faults, the page's and the server's, have the pointer `/limits/…`. */
const fieldOf = (name) => `limits/${name}`;

/** Sets the tier of an account, and the limits of an enterprise account. */
export function SetTier({ data, onClose, onDone }) {
  const [tier, setTier] = useState(data.tier);
  const send = (values) => {
    const given = LIMITS.filter(([name]) => tier === 'enterprise' && values[fieldOf(name)]?.trim());
    const limits = Object.fromEntries(given.map(([name]) => [name, Number(values[fieldOf(name)])]));
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
      ${tier === 'enterprise' && html`<p class="hint">A limit that is left empty is the tier's default.</p>`}
      ${
        tier === 'enterprise' &&
        LIMITS.map(
          ([
            name,
            label,
            max,
          ]) => html`<${Field} key=${name} label=${label} name=${fieldOf(name)} type="number" min="1" max=${max} step="1"
            defaultValue=${data.tier === 'enterprise' ? String(data.limits[name]) : ''} fault=${form.faults[`/limits/${name}`]} />`,
        )
      }
    <//>
  <//>`;
}
