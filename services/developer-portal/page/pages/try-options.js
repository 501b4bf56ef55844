import { chainsOf } from '../core/build-check.js';
import { html } from '../core/html.js';
import { Checkbox, Field } from '../parts/field.js';

export const NO_OPTIONS = { others: '', vaults: '', blocks: {}, explain: true };

/** What few checks need: further addresses, vaults, blocks of the past. */
export function TryOptions({ more, rules, faults, onChange }) {
  const { others, vaults, blocks, explain } = more;
  const change = (name, value) => onChange({ ...more, [name]: value });
  const chains = chainsOf(rules);
  const hasFault = Object.keys(faults).some((pointer) => /^\/(accounts|vaults|consistency)/.test(pointer));
  return html`<details class="more" open=${hasFault || undefined}>
    <summary>More options</summary>
    <div class="two">
      <${Field} label="Other addresses of the same person" as="textarea" rows="2" class="mono-input" name="accounts" value=${others}
        placeholder="0x…" hint="One a line. Their holdings count together." fault=${faultIn(faults, '/accounts')}
        onInput=${(event) => change('others', event.target.value)} />
      <${Field} label="Vaults" as="textarea" rows="2" class="mono-input" name="vaults" value=${vaults} placeholder="0x…"
        hint="One a line. They count as far as they have delegated in the delegate.xyz registry."
        fault=${faultIn(faults, '/vaults')} onInput=${(event) => change('vaults', event.target.value)} />
    </div>
    <div class="rule-grid">
      ${chains.map(
        (
          chainId,
        ) => html`<${Field} key=${chainId} label=${chains.length === 1 ? 'At block' : `At block of ${chainId}`}
          name=${`consistency/atBlock/${chainId}`} inputmode="numeric" maxlength="15" placeholder="the newest"
          value=${blocks[chainId] ?? ''} fault=${faultIn(faults, `/consistency/atBlock/${chainId}`)}
          onInput=${(event) => change('blocks', { ...blocks, [chainId]: event.target.value })} />`,
      )}
    </div>
    <${Checkbox} label="Show the amounts that were compared" name="explain" checked=${explain}
      onChange=${(event) => change('explain', event.target.checked)} />
  </details>`;
}

/** The fault of a field, or of the first faulty entry of the list that it holds; the first account has its own field. */
function faultIn(faults, pointer) {
  const entry = Object.keys(faults).find((key) => key.startsWith(`${pointer}/`) && key !== '/accounts/0');
  return faults[pointer] ?? faults[entry];
}
