import { html } from '../../lib/html.js';
import { Field, options } from '../../ui/form.js';
import { numberOf } from '../try/describe-detail.js';
import {
  countRules,
  DEPTH_MAX,
  FIELDS,
  hasRules,
  isComposed,
  memberOf,
  newRule,
  POLICIES,
  RULES_MAX,
  rulesIn,
  TERM_FIELDS,
  textOf,
  withMember,
  withType,
} from './edit-rules.js';

/** @import { VNode } from '/assets/vendor/htm-preact.js' */
/** @import { Rule } from './edit-rules.js' */

/** @typedef {Record<string, string>} Faults texts by JSON pointer */
/**
 * @typedef {{ chainId: number, name: string, state: string }[]} Chains the configured ones; none
 *   where the portal does not know them
 */
/** @typedef {readonly (readonly [value: string, text: string])[]} Pairs */

/**
 * The purpose of each field of a rule; required ones have no default.
 * @type {Record<string, { label: string, required?: boolean, options?: Pairs, [attribute: string]:
 *   unknown }>}
 */
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
    options: Object.entries({ '': 'default', eq: '=', ne: '≠', gt: '>', gte: '≥', lt: '<', lte: '≤' }),
  },
  value: { label: 'Value', placeholder: 'true', maxlength: 1_000 },
  decimals: { label: 'Decimals', placeholder: '18', maxlength: 2, inputmode: 'numeric', required: true },
  times: { label: 'Multiplied by', placeholder: '1', maxlength: 2_000 },
  onRevert: {
    label: 'If it reverts',
    as: 'select',
    options: Object.entries({ '': 'undetermined', deny: 'denied' }),
  },
  wallets: {
    label: 'Satisfied by',
    as: 'select',
    options: Object.entries({ '': 'any address', all: 'every address' }),
  },
};

/** The types of rules and of terms, in words. @type {Record<string, string>} */
const TYPES = {
  ERC20: 'Tokens (ERC20)',
  ERC721: 'NFTs (ERC721)',
  ERC1155: 'Items (ERC1155)',
  NATIVE: 'Coins of the chain',
  CONTRACT: 'Function of a contract',
  SUM: 'Sum of amounts',
  ALL: 'All of these rules',
  ANY: 'Any of these rules',
  NONE: 'None of these rules',
  AT_LEAST: 'At least some of these rules',
};

/** Choices, and a value that came as JSON and is none of them.
 * @param {Pairs} pairs
 * @returns {Pairs} */
export const withValue = (pairs, value) =>
  pairs.some(([offered]) => offered === value) ? pairs : [...pairs, [value, value]];

/**
 * The fault of a field, or of the first faulty entry of the list that it holds; the first account
 * has its own field.
 * @param {Faults} faults
 */
export function faultIn(faults, pointer) {
  const entry = Object.keys(faults).find((key) => key.startsWith(`${pointer}/`) && key !== '/accounts/0');
  return faults[pointer] ?? faults[entry ?? ''];
}

/**
 * The rules of a check or of a rule set, and what becomes of one that cannot be read.
 * @param {object} props
 * @param {Rule} props.of the check or rule set
 * @param {(changed: Rule) => void} props.onChange
 * @param {Chains} props.chains
 * @param {Faults} props.faults
 */
export function RulesFields({ of, onChange, chains, faults }) {
  /** @type {Rule[]} */
  const rules = of['rules'] ?? [];
  const onUndetermined = textOf(of['onUndetermined'] ?? 'omit');
  const canAdd = countRules(rules) < RULES_MAX;
  const change = (/** @type {Rule[]} */ changed) => onChange(withMember(of, 'rules', changed));
  const add = () => {
    const chainId = rules.at(-1)?.['chainId'] ?? chains[0]?.chainId;
    change([...rules, newRule(chainId, `role-${rules.length + 1}`)]);
  };
  return html`
    ${faults['/rules'] && html`<p class="fault">${faults['/rules']}</p>`}
    ${drawRules({ rules, path: '/rules', depth: 1, chains, faults, canAdd, onChange: change })}
    <div class="inline spread">
      <button type="button" onClick=${add} disabled=${!canAdd}>Add a rule</button>
      <${Field} label="A rule that cannot be read" as="select" name="onUndetermined" value=${onUndetermined} fault=${faults['/onUndetermined']}
        hint="When no node can tell a balance. Left out, nobody gains or loses the role."
        onChange=${({ target: { value } }) => onChange(withMember(of, 'onUndetermined', value === 'omit' ? undefined : value))}>
        ${options(withValue(POLICIES, onUndetermined))}
      <//>
    </div>`;
}

/**
 * The rules of a check, those inside of a composed rule, or the terms of a sum. `path` is their JSON
 * pointer; `canAdd` tells whether there may be one more rule.
 * @typedef {{ path: string, depth: number, isOfSum?: boolean, chains: Chains, faults: Faults, canAdd:
 *   boolean }} Place
 * @typedef {Place & { rules: Rule[], onChange: (rules: Rule[]) => void }} Rules
 */

/** @param {Rules} props @returns {VNode[]} */
const drawRules = ({ rules, path, onChange, ...rest }) =>
  rules.map(
    (rule, place) => html`<${RuleFields} key=${place} ...${rest} rule=${rule} path=${`${path}/${place}`}
      onChange=${(/** @type {Rule} */ changed) => onChange(rules.with(place, changed))}
      onRemove=${rules.length > 1 ? () => onChange(rules.toSpliced(place, 1)) : undefined} />`,
  );

/**
 * The fields of one rule, and of the rules inside of it. Which there are depends on its type.
 * @param {Place & { rule: Rule, onChange: (rule: Rule) => void, onRemove?: () => void }} props
 */
function RuleFields({ rule, path, depth, isOfSum = false, chains, faults, canAdd, onChange, onRemove }) {
  const type = textOf(rule['type']);
  const rules = rulesIn(rule);
  const fields = (isOfSum ? TERM_FIELDS : FIELDS)[type] ?? [];
  const number = numberOf(path);
  const bind = (name) => {
    const set = (/** @type {string} */ text) => onChange(withMember(rule, name, memberOf(name, text)));
    return {
      name: `${path}/${name}`.slice(1),
      value: textOf(rule[name]),
      onInput: ({ target }) => set(target.value),
      // A role is compared byte by byte, so blanks around it stay.
      onChange: ({ target: { value } }) =>
        set(name === 'roleId' ? value : value.trim().replace(/ *\n */g, '\n')),
      fault: faultIn(faults, `${path}/${name}`),
    };
  };
  const changeRules = (/** @type {Rule[]} */ changed) => onChange(withMember(rule, 'rules', changed));
  const add = () => changeRules([...rules, newRule(rules.at(-1)?.['chainId'])]);
  const types = isOfSum
    ? Object.keys(TERM_FIELDS)
    : Object.keys(TYPES).filter((one) => depth <= DEPTH_MAX || !isComposed({ type: one }));
  return html`<fieldset class="rule">
    <legend>${isOfSum ? 'Amount' : 'Rule'} ${number}</legend>
    ${onRemove && html`<button type="button" class="plain remove" aria-label=${`Remove ${isOfSum ? 'amount' : 'rule'} ${number}`} onClick=${onRemove}>Remove</button>`}
    ${faults[path] && html`<p class="fault">${faults[path]}</p>`}
    <div class="rule-grid">
      <${Field} label="Type" as="select" class="double" ...${bind('type')} onInput=${undefined} onChange=${(event) => onChange(withType(rule, event.target.value, isOfSum))}>
        ${options(
          withValue(
            types.map((one) => [one, TYPES[one] ?? one]),
            type,
          ),
        )}
      <//>
      ${!hasRules(rule) && html`<${ChainField} chains=${chains} ...${bind('chainId')} />`}
      ${type === 'AT_LEAST' && html`<${Field} label="How many" required inputmode="numeric" maxlength="4" ...${bind('atLeast')} />`}
      ${fields.map((name) => {
        const { options: offered, required, ...words } = WORDS[name] ?? { label: name };
        const isRequired = required || (name === 'tokenId' && type === 'ERC1155');
        return html`<${Field} key=${name} ...${words} ...${bind(name)} required=${isRequired}>${offered && options(withValue(offered, textOf(rule[name])))}<//>`;
      })}
      ${depth === 1 && html`<${Field} label="Role id" required maxlength="128" ...${bind('roleId')} />`}
    </div>
    ${
      hasRules(rule) &&
      html`<div class="inner-rules">
        ${drawRules({ rules, path: `${path}/rules`, depth: depth + 1, isOfSum: type === 'SUM', chains, faults, canAdd, onChange: changeRules })}
        <div><button type="button" disabled=${!canAdd} onClick=${add}>${type === 'SUM' ? 'Add an amount' : `Add to rule ${number}`}</button></div>
      </div>`
    }
  </fieldset>`;
}

/**
 * The configured chains; where the portal does not know them, any id.
 * @param {{ chains: Chains, value: string, [attribute: string]: any }} props
 */
export function ChainField({ chains, ...bound }) {
  if (chains.length === 0)
    return html`<${Field} label="Chain id" required inputmode="numeric" maxlength="15" ...${bound} />`;
  /** @type {Pairs} */
  const pairs = chains.map(({ chainId, name, state }) => [
    String(chainId),
    `${name} (${chainId})${state === 'down' ? ', cannot be read now' : ''}`,
  ]);
  const isKnown = pairs.some(([value]) => value === bound.value);
  return html`<${Field} label="Chain" as="select" class="double" ...${bound}>
    ${options(isKnown ? pairs : [...pairs, [bound.value, `${bound.value || 'none'} (not configured)`]])}
  <//>`;
}
