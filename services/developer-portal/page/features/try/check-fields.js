import { html } from '../../lib/html.js';
import { Checkbox, Field, options } from '../../ui/form.js';
import { Details } from '../../ui/page.js';
import { Segments } from '../../ui/values.js';
import { chainsOf, textOf, toInteger, withMember } from '../rule-sets/edit-rules.js';
import { faultIn, RulesFields, withValue } from '../rule-sets/rules-fields.js';
import { SignInFields, walletsOf } from './sign-in-fields.js';

/** @import { Rule } from '../rule-sets/edit-rules.js' */
/** @import { Chains, Faults } from '../rule-sets/rules-fields.js' */

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

/** @typedef {{ check: Rule, faults: Faults, setCheck: (check: Rule) => void }} Props */

/** The lines of a field while it is typed, and once it is left. */
const linesOf = (text) => (text === '' ? [] : text.split('\n'));
const tidyLinesOf = (text) => text.split(/[\s,]+/).filter(Boolean);

/** @param {Rule} check @param {readonly string[]} wallets */
function withWallets({ account: _, accounts: __, ...rest }, [first = '', ...others]) {
  return others.length === 0 ? { account: first, ...rest } : { accounts: [first, ...others], ...rest };
}

/** @param {Rule} check @param {readonly string[]} path @returns {Rule} without objects that are empty */
function withNested(check, [name = '', ...rest], value) {
  if (rest.length === 0) return withMember(check, name, value);
  const inner = withNested(check[name] ?? {}, rest, value);
  return withMember(check, name, Object.keys(inner).length === 0 ? undefined : inner);
}

/**
 * The check as a form. Its fields rest while they cannot show the JSON.
 * @param {Props & { isShown: boolean, chains: Chains, knownUrl: string, apiKey: string }} props
 */
export function CheckFields({ check, isShown, setCheck, chains, faults, knownUrl, apiKey }) {
  const { ruleSet } = check;
  const [first, ...others] = walletsOf(check);
  const setFirst = (text) => setCheck(withWallets(check, [text, ...others]));
  return html`<fieldset class="try-builder" disabled=${!isShown}>
    <legend class="visually-hidden">Check as a form</legend>
    <${Field} label="Wallet" name="account" required maxlength="100" class="mono-input" placeholder="0x…" value=${first}
      onInput=${(event) => setFirst(event.target.value)} onChange=${(event) => setFirst(event.target.value.trim())}
      fault=${faults['/account'] ?? faults['/accounts/0']} />
    <${Mode} check=${check} faults=${faults} setCheck=${setCheck} knownUrl=${knownUrl} />
    ${typeof ruleSet === 'string' && html`<p class="notice">The rules are those of the rule set <code class="break">${ruleSet}</code>.</p>`}
    <${RulesFields} of=${check} onChange=${setCheck} chains=${chains} faults=${faults} />
    <${SignInFields} check=${check} apiKey=${apiKey} chains=${chains} faults=${faults} setCheck=${setCheck} />
    <${More} check=${check} faults=${faults} setCheck=${setCheck} />
  </fieldset>`;
}

/** How the app wants to have its result. @param {Props & { knownUrl: string }} props */
function Mode({ check, faults, setCheck, knownUrl }) {
  const { async: isAsync, callbackUrl, ...rest } = check;
  const mode = callbackUrl !== undefined ? 'webhook' : isAsync === true ? 'poll' : 'sync';
  const setUrl = (text) => setCheck({ ...rest, callbackUrl: text });
  const change = (next) => {
    if (next === 'webhook') setUrl(knownUrl);
    else setCheck(next === 'poll' ? { ...rest, async: true } : rest);
  };
  return html`<div class="field">
    <span class="label" aria-hidden="true">Result</span>
    <${Segments} label="Result" options=${MODES} value=${mode} onChange=${change} />
    ${faults['/async'] && html`<p class="fault">${faults['/async']}</p>`}
  </div>
  ${
    mode === 'webhook' &&
    html`<${Field} label="Callback URL" name="callbackUrl" required maxlength="2048" class="mono-input"
      placeholder="https://example.com/hooks" value=${textOf(callbackUrl)} fault=${faults['/callbackUrl']}
      hint="The result is sent there, signed with the app's secret."
      onInput=${(event) => setUrl(event.target.value)} onChange=${(event) => setUrl(event.target.value.trim())} />`
  }`;
}

/**
 * Options that few checks need: further addresses, vaults, and the blocks that are read.
 * @param {Props} props
 */
function More({ check, faults, setCheck }) {
  const { vaults, consistency, explain } = check;
  const [first = '', ...others] = walletsOf(check);
  const chains = chainsOf(check['rules'] ?? []);
  const blockTag = textOf(consistency?.blockTag);
  const hasFault = Object.keys(faults).some((pointer) => /^\/(accounts|vaults|consistency)/.test(pointer));
  const isUsed = others.length > 0 || vaults !== undefined || consistency !== undefined;
  const setOthers = (/** @type {string[]} */ lines) => setCheck(withWallets(check, [first, ...lines]));
  const setVaults = (/** @type {string[]} */ lines) =>
    setCheck(withMember(check, 'vaults', lines.length === 0 ? undefined : lines));
  /** A block number of one chain. @param {'atBlock' | 'minBlock'} member */
  const blockField = (member, label, chainId) => html`<${Field}
    label=${chains.length > 1 ? `${label} of chain ${chainId}` : label} name=${`consistency/${member}/${chainId}`} inputmode="numeric"
    maxlength="15" placeholder="any" value=${textOf(consistency?.[member]?.[chainId])} fault=${faultIn(faults, `/consistency/${member}/${chainId}`)}
    onInput=${({ target: { value } }) => setCheck(withNested(check, ['consistency', member, chainId], value.trim() === '' ? undefined : toInteger(value.trim())))} />`;
  return html`<${Details} summary="More options" isOpen=${hasFault || isUsed}>
    <div class="two">
      <${Field} label="Other addresses of the same person" as="textarea" rows="2" class="mono-input" name="accounts" value=${textOf(others)}
        placeholder="0x…" hint="One per line. Their holdings count together." fault=${faultIn(faults, '/accounts')}
        onInput=${(event) => setOthers(linesOf(event.target.value))} onChange=${(event) => setOthers(tidyLinesOf(event.target.value))} />
      <${Field} label="Vaults" as="textarea" rows="2" class="mono-input" name="vaults" value=${textOf(vaults)} placeholder="0x…"
        hint="One per line. They count for the tokens that they have delegated in the delegate.xyz registry." fault=${faultIn(faults, '/vaults')}
        onInput=${(event) => setVaults(linesOf(event.target.value))} onChange=${(event) => setVaults(tidyLinesOf(event.target.value))} />
    </div>
    <${Field} label="Read at" as="select" name="consistency/blockTag" value=${blockTag} fault=${faults['/consistency/blockTag'] ?? faults['/consistency']}
      onChange=${({ target: { value } }) => setCheck(withNested(check, ['consistency', 'blockTag'], value || undefined))}>${options(withValue(BLOCK_TAGS, blockTag))}<//>
    ${chains.map((chainId) => html`<div class="rule-grid" key=${chainId}>${blockField('atBlock', 'Exactly at block', chainId)}${blockField('minBlock', 'Not before block', chainId)}</div>`)}
    <${Checkbox} label="Show the amounts that were compared" name="explain" checked=${explain === true}
      onChange=${(event) => setCheck(withMember(check, 'explain', event.target.checked || undefined))} />
  <//>`;
}
