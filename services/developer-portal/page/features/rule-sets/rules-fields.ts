import { html } from '../../lib/html.ts';
import { Fault, Field } from '../../ui/form.ts';
import { numberOf } from '../try/describe-detail.ts';
import {
  countRules,
  FIELDS,
  hasRules,
  isComposed,
  memberOf,
  newRule,
  type Rule,
  rulesIn,
  TERM_FIELDS,
  textOf,
  withMember,
  withType,
} from './edit-rules.ts';

/** Most rules that the form offers, those inside of composed rules counted; the API takes more. */
const RULES_MAX = 20;
/** Depth of nested composed rules. */
const DEPTH_MAX = 4;

const POLICIES = { omit: 'Leave the rule out', deny: 'Deny the rule', fail: 'Fail the check' };

const WIDE = 'span mono-input';

/** The purpose of each field of a rule; required ones have no default. */
const WORDS = {
  contractAddress: { label: 'Contract', placeholder: '0x…', maxlength: 100, required: true, class: WIDE },
  tokenId: { label: 'Token ids', placeholder: '1,2,42-69', maxlength: 4_000 },
  minToken: { label: 'At least', placeholder: '1', maxlength: 120 },
  maxToken: { label: 'At most', placeholder: 'no bound', maxlength: 120 },
  function: {
    label: 'Function',
    placeholder: 'function isMember(address who) view returns (bool)',
    maxlength: 512,
    required: true,
    class: WIDE,
  },
  args: {
    label: 'Arguments',
    as: 'textarea',
    rows: 2,
    placeholder: '$account',
    class: WIDE,
    hint: 'One per line. $account stands for the wallet.',
  },
  returns: { label: 'Output', placeholder: 'the first', maxlength: 100 },
  operator: {
    label: 'Comparison',
    choices: { '': 'default', eq: '=', ne: '≠', gt: '>', gte: '≥', lt: '<', lte: '≤' },
  },
  value: { label: 'Value', placeholder: 'true', maxlength: 1_000 },
  decimals: { label: 'Decimals', placeholder: '18', maxlength: 2, inputmode: 'numeric', required: true },
  times: { label: 'Multiplied by', placeholder: '1', maxlength: 2_000 },
  onRevert: { label: 'If it reverts', choices: { '': 'undetermined', deny: 'denied' } },
  wallets: { label: 'Satisfied by', choices: { '': 'any address', all: 'every address' } },
};

const TYPES: Record<string, string> = {
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

/** The rules `of` a check or of a rule set, and what becomes of one that cannot be read. `chains`
 * are the configured ones; none where the portal does not know them. */
export function RulesFields({ of, onChange, chains }) {
  const rules: Rule[] = of['rules'] ?? [];
  const onUndetermined = textOf(of['onUndetermined'] ?? 'omit');
  const canAdd = countRules(rules) < RULES_MAX;
  const change = (changed: Rule[]) => onChange(withMember(of, 'rules', changed));
  const add = () => {
    const chainId = rules.at(-1)?.['chainId'] ?? chains[0]?.chainId;
    change([...rules, newRule(chainId, `role-${rules.length + 1}`)]);
  };
  return html`
    <${Fault} of="/rules" />
    ${drawRules({ rules, path: '/rules', depth: 1, chains, canAdd, onChange: change })}
    <div class="inline spread">
      <button type="button" onClick=${add} disabled=${!canAdd}>Add a rule</button>
      <${Field} label="A rule that cannot be read" name="onUndetermined" choices=${POLICIES} value=${onUndetermined}
        hint="When no node can tell a balance. Left out, nobody gains or loses the role."
        onChange=${({ target: { value } }) => onChange(withMember(of, 'onUndetermined', value === 'omit' ? undefined : value))} />
    </div>`;
}

/** The rules of a check, those inside of a composed rule, or the terms of a sum. `path` is their
 * JSON pointer; `canAdd` tells whether there may be one more rule. */
const drawRules = ({ rules, path, onChange, ...rest }) =>
  rules.map(
    (rule, place) => html`<${RuleFields} key=${place} ...${rest} rule=${rule} path=${`${path}/${place}`}
      onChange=${(changed) => onChange(rules.with(place, changed))}
      onRemove=${rules.length > 1 ? () => onChange(rules.toSpliced(place, 1)) : undefined} />`,
  );

/** The fields of one rule, and of the rules inside of it. Which there are depends on its type. */
function RuleFields({ rule, path, depth, isOfSum = false, chains, canAdd, onChange, onRemove }) {
  const type = textOf(rule['type']);
  const rules = rulesIn(rule);
  const fields = (isOfSum ? TERM_FIELDS : FIELDS)[type] ?? [];
  const number = numberOf(path);
  const bind = (name) => {
    const set = (text: string) => onChange(withMember(rule, name, memberOf(name, text)));
    return {
      name: `${path}/${name}`.slice(1),
      value: textOf(rule[name]),
      onInput: ({ target }) => set(target.value),
      // A role is compared byte by byte, so blanks around it stay.
      onChange: ({ target: { value } }) =>
        set(name === 'roleId' ? value : value.trim().replace(/ *\n */g, '\n')),
    };
  };
  const changeRules = (changed: Rule[]) => onChange(withMember(rule, 'rules', changed));
  const add = () => changeRules([...rules, newRule(rules.at(-1)?.['chainId'])]);
  const offered = isOfSum
    ? Object.keys(TERM_FIELDS)
    : Object.keys(TYPES).filter((one) => depth <= DEPTH_MAX || !isComposed({ type: one }));
  const types = offered.map((one) => [one, TYPES[one] ?? one] as const);
  return html`<fieldset class="rule">
    <legend>${isOfSum ? 'Amount' : 'Rule'} ${number}</legend>
    ${onRemove && html`<button type="button" class="plain remove" aria-label=${`Remove ${isOfSum ? 'amount' : 'rule'} ${number}`} onClick=${onRemove}>Remove</button>`}
    <${Fault} of=${path} />
    <div class="rule-grid">
      <${Field} label="Type" choices=${types} class="double" ...${bind('type')} onInput=${undefined} onChange=${(event) => onChange(withType(rule, event.target.value, isOfSum))} />
      ${!hasRules(rule) && html`<${ChainField} chains=${chains} ...${bind('chainId')} />`}
      ${type === 'AT_LEAST' && html`<${Field} label="How many" required inputmode="numeric" maxlength="4" ...${bind('atLeast')} />`}
      ${fields.map((name) => {
        const { required, ...words } = WORDS[name] ?? { label: name };
        const isRequired = required || (name === 'tokenId' && type === 'ERC1155');
        return html`<${Field} key=${name} ...${words} ...${bind(name)} required=${isRequired} />`;
      })}
      ${depth === 1 && html`<${Field} label="Role id" required maxlength="128" ...${bind('roleId')} />`}
    </div>
    ${
      hasRules(rule) &&
      html`<div class="inner-rules">
        ${drawRules({ rules, path: `${path}/rules`, depth: depth + 1, isOfSum: type === 'SUM', chains, canAdd, onChange: changeRules })}
        <div><button type="button" disabled=${!canAdd} onClick=${add}>${type === 'SUM' ? 'Add an amount' : `Add to rule ${number}`}</button></div>
      </div>`
    }
  </fieldset>`;
}

/** The configured chains; where the portal does not know them, any id. */
export function ChainField({ chains, value, ...bound }) {
  if (chains.length === 0)
    return html`<${Field} label="Chain id" required inputmode="numeric" maxlength="15" value=${value} ...${bound} />`;
  const pairs = chains.map(({ chainId, name, state }) => [
    String(chainId),
    `${name} (${chainId})${state === 'down' ? ', cannot be read now' : ''}`,
  ]);
  const isKnown = pairs.some(([chainId]) => chainId === value);
  const choices = isKnown ? pairs : [...pairs, [value, `${value || 'none'} (not configured)`]];
  return html`<${Field} label="Chain" choices=${choices} class="double" value=${value} ...${bound} />`;
}
