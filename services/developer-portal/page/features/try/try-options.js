import { html } from '../../lib/html.js';
import { Checkbox, Field } from '../../ui/field.js';
import { Segments } from '../../ui/segments.js';
import { chainsOf } from './build-check.js';

const MODES = [
  ['sync', 'Wait for the answer'],
  ['poll', 'Poll'],
  ['webhook', 'Webhook'],
];
const BLOCK_TAGS = [
  ['', 'The newest block'],
  ['safe', 'The newest safe block'],
  ['finalized', 'The newest finalized block'],
];

/** How the app wants to have its result. `change(name, value)` changes the form. */
export function TryMode({ form, faults, change, knownUrl }) {
  const changeMode = (mode) => change({ mode, callbackUrl: form.callbackUrl || knownUrl });
  return html`<div class="field">
      <span class="label" id="try-mode" aria-hidden="true">Result</span>
      <${Segments} label="Result" options=${MODES} value=${form.mode} onChange=${changeMode} />
      ${faults['/async'] && html`<p class="fault">${faults['/async']}</p>`}
    </div>
    ${
      form.mode === 'webhook' &&
      html`<${Field} label="Callback URL" name="callbackUrl" required maxlength="2048" class="mono-input"
        placeholder="https://example.com/hooks" value=${form.callbackUrl} fault=${faults['/callbackUrl']}
        hint="The result is sent there, signed with the app's secret."
        onInput=${(event) => change({ callbackUrl: event.target.value })} />`
    }`;
}

/** Options that few checks need: further addresses, vaults, and the blocks that are read. */
export function TryOptions({ form, faults, change }) {
  const { others, vaults, blockTag, explain } = form;
  const chains = chainsOf(form.rules);
  const hasFault = Object.keys(faults).some((pointer) => /^\/(accounts|vaults|consistency)/.test(pointer));
  const isUsed = [others, vaults, blockTag, ...Object.values(form.atBlock), ...Object.values(form.minBlock)];
  return html`<details class="more" open=${hasFault || isUsed.some((text) => text !== '') || undefined}>
    <summary>More options</summary>
    <div class="two">
      <${Field} label="Other addresses of the same person" as="textarea" rows="2" class="mono-input" name="accounts" value=${others}
        placeholder="0x…" hint="One per line. Their holdings count together." fault=${faultIn(faults, '/accounts')}
        onInput=${(event) => change({ others: event.target.value })} />
      <${Field} label="Vaults" as="textarea" rows="2" class="mono-input" name="vaults" value=${vaults} placeholder="0x…"
        hint="One per line. They count for the tokens that they have delegated in the delegate.xyz registry."
        fault=${faultIn(faults, '/vaults')} onInput=${(event) => change({ vaults: event.target.value })} />
    </div>
    <${Field} label="Read at" as="select" name="consistency/blockTag" value=${blockTag} fault=${faults['/consistency/blockTag'] ?? faults['/consistency']}
      onChange=${(event) => change({ blockTag: event.target.value })}>
      ${BLOCK_TAGS.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
      ${BLOCK_TAGS.every(([value]) => value !== blockTag) && html`<option value=${blockTag}>${blockTag}</option>`}
    <//>
    ${chains.map(
      (chainId) => html`<div class="rule-grid" key=${chainId}>
        <${BlockField} member="atBlock" label="Exactly at block" chainId=${chainId} many=${chains.length > 1} form=${form} faults=${faults} change=${change} />
        <${BlockField} member="minBlock" label="Not before block" chainId=${chainId} many=${chains.length > 1} form=${form} faults=${faults} change=${change} />
      </div>`,
    )}
    <${Checkbox} label="Show the amounts that were compared" name="explain" checked=${explain}
      onChange=${(event) => change({ explain: event.target.checked })} />
  </details>`;
}

/** A block number of one chain, in `atBlock` or `minBlock`. */
const BlockField = ({ member, label, chainId, many, form, faults, change }) => html`<${Field}
  label=${many ? `${label} of chain ${chainId}` : label} name=${`consistency/${member}/${chainId}`} inputmode="numeric"
  maxlength="15" placeholder="any" value=${form[member][chainId] ?? ''} fault=${faultIn(faults, `/consistency/${member}/${chainId}`)}
  onInput=${(event) => change({ [member]: { ...form[member], [chainId]: event.target.value } })} />`;

/** The fault of a field, or of the first faulty entry of the list that it holds; the first account has its own field. */
function faultIn(faults, pointer) {
  const entry = Object.keys(faults).find((key) => key.startsWith(`${pointer}/`) && key !== '/accounts/0');
  return faults[pointer] ?? faults[entry];
}
