import { FIELDS } from '../core/build-check.js';
import { html } from '../core/html.js';
import { Field } from '../parts/field.js';

/** What each field is for; required ones have no default. */
const WORDS = {
  contractAddress: { label: 'Contract', placeholder: '0x…', maxlength: 100, required: true },
  tokenId: { label: 'Token ids', placeholder: '1,2,42-69', maxlength: 4_000 },
  minToken: { label: 'At least', placeholder: '1', maxlength: 120 },
  maxToken: { label: 'At most', placeholder: 'no bound', maxlength: 120 },
};

/** The fields of one rule. Which there are depends on its type. */
export function RuleFields({ rule, place, chains, faults, onChange, onRemove }) {
  const fault = (name) => faults[`/rules/${place}/${name}`];
  const bind = (name) => ({
    name: `rules/${place}/${name}`,
    value: rule[name],
    onInput: (event) => onChange(name, event.target.value),
    fault: fault(name),
  });
  return html`<fieldset class="rule">
    <legend>Rule ${place + 1}</legend>
    ${onRemove && html`<button type="button" class="plain remove" aria-label=${`Remove rule ${place + 1}`} onClick=${onRemove}>Remove</button>`}
    <div class="rule-grid">
      <${Field} label="Type" as="select" ...${bind('type')} onChange=${(event) => onChange('type', event.target.value)}>
        ${Object.keys(FIELDS).map((type) => html`<option value=${type}>${type}</option>`)}
      <//>
      <${ChainField} chains=${chains} ...${bind('chainId')} />
      ${FIELDS[rule.type].map(
        (
          name,
        ) => html`<${Field} key=${name} class=${name === 'contractAddress' ? 'span mono-input' : ''} ...${WORDS[name]}
          required=${name === 'contractAddress' || (name === 'tokenId' && rule.type === 'ERC1155')} ...${bind(name)} />`,
      )}
      <${Field} label="Role id" required maxlength="128" ...${bind('roleId')} />
    </div>
  </fieldset>`;
}

/** The configured chains; where the portal does not know them, any id. */
const ChainField = ({ chains, ...bound }) =>
  chains.length === 0
    ? html`<${Field} label="Chain id" required inputmode="numeric" maxlength="15" ...${bound} />`
    : html`<${Field} label="Chain" as="select" class="double" ...${bound}>
        ${chains.map(({ chainId, name }) => html`<option value=${String(chainId)}>${name} (${chainId})</option>`)}
      <//>`;
