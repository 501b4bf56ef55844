import { html } from '../../lib/html.js';
import { Checkbox, Field, options } from '../../ui/form.js';
import { Segments } from '../../ui/values.js';
import { POLICIES } from '../rule-sets/rule-sets.js';
import {
  COMPOSED,
  chainsOf,
  countRules,
  DEPTH_MAX,
  FIELDS,
  hasRules,
  isComposed,
  newRule,
  RULES_MAX,
  TERM_FIELDS,
} from './build-check.js';
import { numberOf } from './describe-detail.js';

/** @import { VNode } from '/assets/vendor/htm-preact.js' */
/** @import { CheckForm, RuleForm, RuleTexts } from './build-check.js' */

/** @typedef {Record<string, string>} Faults texts by JSON pointer */
/** @typedef {(changes: Partial<CheckForm>) => void} Change */
/**
 * @typedef {{ chainId: number, name: string }[]} Chains the configured ones; none where the portal
 *   does not know them
 */
/** @typedef {readonly (readonly [value: string, text: string])[]} Pairs */

const MODES = /** @type {const} */ ([
  ['sync', 'Wait for the answer'],
  ['poll', 'Poll'],
  ['webhook', 'Webhook'],
]);
const BLOCK_TAGS = /** @type {const} */ ([
  ['', 'The newest block'],
  ['safe', 'The newest safe block'],
  ['finalized', 'The newest finalized block'],
]);

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
  times: { label: 'Times', placeholder: '1', maxlength: 120 },
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

const TYPES = [...Object.keys(FIELDS), ...Object.keys(COMPOSED)];

/** Choices, and a value that came as JSON and is none of them.
 * @param {Pairs} pairs
 * @returns {Pairs} */
const withValue = (pairs, value) =>
  pairs.some(([offered]) => offered === value) ? pairs : [...pairs, [value, value]];

/**
 * The fault of a field, or of the first faulty entry of the list that it holds; the first account
 * has its own field.
 * @param {Faults} faults
 */
function faultIn(faults, pointer) {
  const entry = Object.keys(faults).find((key) => key.startsWith(`${pointer}/`) && key !== '/accounts/0');
  return faults[pointer] ?? faults[entry ?? ''];
}

/**
 * The check as a form. Its fields rest while they cannot show the JSON.
 * @param {object} props
 * @param {CheckForm} props.form
 * @param {boolean} props.isShown
 * @param {(form: CheckForm) => void} props.setForm
 * @param {Chains} props.chains
 * @param {Faults} props.faults
 * @param {string} props.knownUrl
 */
export function CheckFields({ form, isShown, setForm, chains, faults, knownUrl }) {
  const { rules, onUndetermined } = form;
  /** @type {Change} */
  const change = (changes) => setForm({ ...form, ...changes });
  const canAdd = countRules(rules) < RULES_MAX;
  const chainId = rules.at(-1)?.chainId || String(chains[0]?.chainId ?? '');
  const ruleSet = form.extra['ruleSet'];
  return html`<fieldset class="try-builder" disabled=${!isShown}>
    <legend class="visually-hidden">Check as a form</legend>
    <${Field} label="Wallet" name="account" required maxlength="100" class="mono-input" placeholder="0x…" value=${form.account}
      onInput=${(event) => change({ account: event.target.value })} fault=${faults['/account'] ?? faults['/accounts/0']} />
    <${Mode} form=${form} faults=${faults} change=${change} knownUrl=${knownUrl} />
    ${faults['/rules'] && html`<p class="fault">${faults['/rules']}</p>`}
    ${typeof ruleSet === 'string' && html`<p class="notice">The rules are those of the rule set <code class="break">${ruleSet}</code>.</p>`}
    ${drawRules({ rules, path: '/rules', depth: 1, chains, faults, canAdd, onChange: (changed) => change({ rules: changed }) })}
    <div class="inline spread">
      <button type="button" onClick=${() => change({ rules: [...rules, newRule(rules.length + 1, chainId)] })} disabled=${!canAdd}>Add a rule</button>
      <${Field} label="A rule that cannot be read" as="select" name="onUndetermined" value=${onUndetermined}
        onChange=${(event) => change({ onUndetermined: event.target.value })} fault=${faults['/onUndetermined']}>
        ${options(withValue(POLICIES, onUndetermined))}
      <//>
    </div>
    <${More} form=${form} faults=${faults} change=${change} />
  </fieldset>`;
}

/**
 * How the app wants to have its result.
 * @param {{ form: CheckForm, faults: Faults, change: Change, knownUrl: string }} props
 */
const Mode = ({ form, faults, change, knownUrl }) => html`<div class="field">
    <span class="label" id="try-mode" aria-hidden="true">Result</span>
    <${Segments} label="Result" options=${MODES} value=${form.mode} onChange=${(mode) => change({ mode, callbackUrl: form.callbackUrl || knownUrl })} />
    ${faults['/async'] && html`<p class="fault">${faults['/async']}</p>`}
  </div>
  ${
    form.mode === 'webhook' &&
    html`<${Field} label="Callback URL" name="callbackUrl" required maxlength="2048" class="mono-input"
      placeholder="https://example.com/hooks" value=${form.callbackUrl} fault=${faults['/callbackUrl']}
      hint="The result is sent there, signed with the app's secret."
      onInput=${(event) => change({ callbackUrl: event.target.value })} />`
  }`;

/**
 * Options that few checks need: further addresses, vaults, and the blocks that are read.
 * @param {{ form: CheckForm, faults: Faults, change: Change }} props
 */
function More({ form, faults, change }) {
  const { others, vaults, blockTag, explain } = form;
  const chains = chainsOf(form.rules);
  const hasFault = Object.keys(faults).some((pointer) => /^\/(accounts|vaults|consistency)/.test(pointer));
  const isUsed = [others, vaults, blockTag, ...Object.values(form.atBlock), ...Object.values(form.minBlock)];
  /** A block number of one chain. @param {'atBlock' | 'minBlock'} member */
  const blockField = (member, label, chainId) => html`<${Field}
    label=${chains.length > 1 ? `${label} of chain ${chainId}` : label} name=${`consistency/${member}/${chainId}`} inputmode="numeric"
    maxlength="15" placeholder="any" value=${form[member][chainId] ?? ''} fault=${faultIn(faults, `/consistency/${member}/${chainId}`)}
    onInput=${(event) => change({ [member]: { ...form[member], [chainId]: event.target.value } })} />`;
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
      onChange=${(event) => change({ blockTag: event.target.value })}>${options(withValue(BLOCK_TAGS, blockTag))}<//>
    ${chains.map((chainId) => html`<div class="rule-grid" key=${chainId}>${blockField('atBlock', 'Exactly at block', chainId)}${blockField('minBlock', 'Not before block', chainId)}</div>`)}
    <${Checkbox} label="Show the amounts that were compared" name="explain" checked=${explain}
      onChange=${(event) => change({ explain: event.target.checked })} />
  </details>`;
}

/**
 * The rules of a check, those inside of a composed rule, or the terms of a sum. `path` is their JSON
 * pointer; `canAdd` tells whether there may be one more rule.
 * @typedef {{ path: string, depth: number, isOfSum?: boolean, chains: Chains, faults: Faults, canAdd:
 *   boolean }} Place
 * @typedef {Place & { rules: RuleForm[], onChange: (rules: RuleForm[]) => void }} Rules
 */

/** @param {Rules} props @returns {VNode[]} */
const drawRules = ({ rules, path, onChange, ...rest }) =>
  rules.map(
    (rule, place) => html`<${RuleFields} key=${place} ...${rest} rule=${rule} path=${`${path}/${place}`}
      onChange=${(/** @type {RuleForm} */ changed) => onChange(rules.with(place, changed))}
      onRemove=${rules.length > 1 ? () => onChange(rules.toSpliced(place, 1)) : undefined} />`,
  );

/**
 * The fields of one rule, and of the rules inside of it. Which there are depends on its type.
 * @param {Place & { rule: RuleForm, onChange: (rule: RuleForm) => void, onRemove?: () => void }}
 *   props
 */
function RuleFields({ rule, path, depth, isOfSum = false, chains, faults, canAdd, onChange, onRemove }) {
  const { type, rules, chainId } = rule;
  const isOfOthers = hasRules(rule);
  const fields = isOfSum ? TERM_FIELDS : FIELDS;
  const number = numberOf(path);
  /** @param {keyof RuleTexts} name */
  const bind = (name) => ({
    name: `${path}/${name}`.slice(1),
    value: rule[name],
    onInput: (/** @type {any} */ event) => onChange({ ...rule, [name]: event.target.value }),
    fault: faultIn(faults, `${path}/${name}`),
  });
  const changeType = (next) => {
    const isEmpty = hasRules({ type: next }) && rules.length === 0;
    onChange({ ...rule, type: next, ...(isEmpty && { rules: [newRule(1, chainId)] }) });
  };
  const add = () => onChange({ ...rule, rules: [...rules, newRule(1, rules.at(-1)?.chainId ?? chainId)] });
  const types = isOfSum
    ? Object.keys(TERM_FIELDS)
    : TYPES.filter((one) => depth <= DEPTH_MAX || !isComposed({ type: one }));
  return html`<fieldset class="rule">
    <legend>${isOfSum ? 'Term' : 'Rule'} ${number}</legend>
    ${onRemove && html`<button type="button" class="plain remove" aria-label=${`Remove ${isOfSum ? 'term' : 'rule'} ${number}`} onClick=${onRemove}>Remove</button>`}
    ${faults[path] && html`<p class="fault">${faults[path]}</p>`}
    <div class="rule-grid">
      <${Field} label="Type" as="select" ...${bind('type')} onChange=${(event) => changeType(event.target.value)}>
        ${options(
          withValue(
            types.map((one) => [one, one]),
            type,
          ),
        )}
      <//>
      ${!isOfOthers && html`<${ChainField} chains=${chains} ...${bind('chainId')} />`}
      ${type === 'AT_LEAST' && html`<${Field} label="How many" required inputmode="numeric" maxlength="4" ...${bind('atLeast')} />`}
      ${(fields[type] ?? []).map((name) => {
        const { options: offered, required, ...words } = WORDS[name] ?? { label: name };
        const isRequired = required || (name === 'tokenId' && type === 'ERC1155');
        return html`<${Field} key=${name} ...${words} ...${bind(name)} required=${isRequired}>${offered && options(offered)}<//>`;
      })}
      ${depth === 1 && html`<${Field} label="Role id" required maxlength="128" ...${bind('roleId')} />`}
    </div>
    ${
      isOfOthers &&
      html`<div class="inner-rules">
        ${drawRules({ rules, path: `${path}/rules`, depth: depth + 1, isOfSum: type === 'SUM', chains, faults, canAdd, onChange: (changed) => onChange({ ...rule, rules: changed }) })}
        <div><button type="button" disabled=${!canAdd} onClick=${add}>Add to rule ${number}</button></div>
      </div>`
    }
  </fieldset>`;
}

/**
 * The configured chains; where the portal does not know them, any id.
 * @param {{ chains: Chains, value: string }} props
 */
function ChainField({ chains, ...bound }) {
  if (chains.length === 0)
    return html`<${Field} label="Chain id" required inputmode="numeric" maxlength="15" ...${bound} />`;
  /** @type {Pairs} */
  const pairs = chains.map(({ chainId, name }) => [String(chainId), `${name} (${chainId})`]);
  const isKnown = pairs.some(([value]) => value === bound.value);
  return html`<${Field} label="Chain" as="select" class="double" ...${bound}>
    ${options(isKnown ? pairs : [...pairs, [bound.value, `${bound.value || 'none'} (not configured)`]])}
  <//>`;
}
