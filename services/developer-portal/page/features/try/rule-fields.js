import { html } from '../../lib/html.js';
import { Field } from '../../ui/field.js';
import { DEPTH_MAX, newRule } from './build-check.js';
import { numberOf } from './describe-detail.js';
import { COMPOSED, FIELDS, isComposed } from './rule-types.js';

/** The purpose of each field; required ones have no default. */
const WORDS = {
  contractAddress: {
    label: 'Contract',
    placeholder: '0x…',
    maxlength: 100,
    required: true,
    class: 'span mono-input',
  },
  tokenId: { label: 'Token ids', placeholder: '1,2,42-69', maxlength: 4_000 },
  minToken: { label: 'At least', placeholder: '1', maxlength: 120 },
  maxToken: { label: 'At most', placeholder: 'no bound', maxlength: 120 },
  function: {
    label: 'Function',
    placeholder: 'function isMember(address who) view returns (bool)',
    maxlength: 512,
    required: true,
    class: 'span mono-input',
  },
  args: {
    label: 'Arguments',
    as: 'textarea',
    rows: 2,
    placeholder: '$account',
    class: 'span mono-input',
    hint: 'One per line. $account stands for the wallet.',
  },
  returns: { label: 'Output', placeholder: 'the first', maxlength: 100 },
  operator: {
    label: 'Comparison',
    as: 'select',
    options: { '': 'default', eq: '=', ne: '≠', gt: '>', gte: '≥', lt: '<', lte: '≤' },
  },
  value: { label: 'Value', placeholder: 'true', maxlength: 1_000 },
  onRevert: {
    label: 'If it reverts',
    as: 'select',
    options: { '': 'undetermined', deny: 'denied' },
  },
  wallets: { label: 'Satisfied by', as: 'select', options: { '': 'any address', all: 'every address' } },
};

const TYPES = [...Object.keys(FIELDS), ...Object.keys(COMPOSED)];
/** The types to choose from; a rule that came as JSON may have another one. */
const typesAt = (depth, current) => [
  ...TYPES.filter((type) => depth <= DEPTH_MAX || !isComposed({ type })),
  ...(TYPES.includes(current) ? [] : [current]),
];

/**
 * The fields of one rule, and of the rules inside of it. Which there are depends on its type.
 *
 * @param path the JSON pointer of the rule in the check, `/rules/0`
 * @param canAdd whether there may be one more rule
 */
export function RuleFields({ rule, path, depth = 1, chains, faults, canAdd, onChange, onRemove }) {
  const number = numberOf(path);
  const change = (name, value) => onChange({ ...rule, [name]: value });
  const bind = (name) => ({
    name: `${path}/${name}`.slice(1),
    value: rule[name],
    onInput: (event) => change(name, event.target.value),
    fault: faultOf(faults, `${path}/${name}`),
  });
  const changeType = (type) => {
    const isEmpty = isComposed({ type }) && rule.rules.length === 0;
    onChange({ ...rule, type, ...(isEmpty && { rules: [newRule(1, rule.chainId)] }) });
  };
  return html`<fieldset class="rule">
    <legend>Rule ${number}</legend>
    ${onRemove && html`<button type="button" class="plain remove" aria-label=${`Remove rule ${number}`} onClick=${onRemove}>Remove</button>`}
    ${faults[path] && html`<p class="fault">${faults[path]}</p>`}
    <div class="rule-grid">
      <${Field} label="Type" as="select" ...${bind('type')} onChange=${(event) => changeType(event.target.value)}>
        ${typesAt(depth, rule.type).map((type) => html`<option value=${type}>${type}</option>`)}
      <//>
      ${isComposed(rule) ? null : html`<${ChainField} chains=${chains} ...${bind('chainId')} />`}
      ${
        rule.type === 'AT_LEAST' &&
        html`<${Field} label="How many" required inputmode="numeric" maxlength="4" ...${bind('atLeast')} />`
      }
      ${(FIELDS[rule.type] ?? []).map((name) => html`<${LeafField} key=${name} rule=${rule} member=${name} ...${bind(name)} />`)}
      ${depth === 1 && html`<${Field} label="Role id" required maxlength="128" ...${bind('roleId')} />`}
    </div>
    ${isComposed(rule) && html`<${InnerRules} ...${{ rule, path, depth, chains, faults, canAdd, change }} />`}
  </fieldset>`;
}

/** The rules that a composed rule is made of. */
function InnerRules({ rule, path, depth, chains, faults, canAdd, change }) {
  const { rules } = rule;
  const changeAt = (place) => (changed) =>
    change(
      'rules',
      rules.map((inner, at) => (at === place ? changed : inner)),
    );
  const removeAt = (place) => () =>
    change(
      'rules',
      rules.filter((_, at) => at !== place),
    );
  const last = rules.at(-1);
  const chainId = last?.chainId ?? rule.chainId;
  return html`<div class="inner-rules">
    ${rules.map(
      (
        inner,
        place,
      ) => html`<${RuleFields} key=${place} rule=${inner} path=${`${path}/rules/${place}`} depth=${depth + 1}
        chains=${chains} faults=${faults} canAdd=${canAdd} onChange=${changeAt(place)}
        onRemove=${rules.length > 1 ? removeAt(place) : undefined} />`,
    )}
    <div><button type="button" disabled=${!canAdd} onClick=${() => change('rules', [...rules, newRule(1, chainId)])}>
      Add to rule ${numberOf(path)}</button></div>
  </div>`;
}

function LeafField({ rule, member, ...bound }) {
  const { options, required, ...words } = WORDS[member];
  const isRequired = required || (member === 'tokenId' && rule.type === 'ERC1155');
  return html`<${Field} ...${words} ...${bound} required=${isRequired}>
    ${options && Object.entries(options).map(([value, text]) => html`<option value=${value}>${text}</option>`)}
  <//>`;
}

/** The fault of a field, or of the first faulty entry of a list that the field holds. */
function faultOf(faults, pointer) {
  const entry = Object.keys(faults).find(
    (key) => key.startsWith(`${pointer}/`) && !pointer.endsWith('/rules'),
  );
  return faults[pointer] ?? faults[entry];
}

/** The configured chains; where the portal does not know them, any id. */
const ChainField = ({ chains, ...bound }) =>
  chains.length === 0
    ? html`<${Field} label="Chain id" required inputmode="numeric" maxlength="15" ...${bound} />`
    : html`<${Field} label="Chain" as="select" class="double" ...${bound}>
        ${chains.map(({ chainId, name }) => html`<option value=${String(chainId)}>${name} (${chainId})</option>`)}
        ${chains.every(({ chainId }) => String(chainId) !== bound.value) && html`<option value=${bound.value}>${bound.value || 'none'} (not configured)</option>`}
      <//>`;
