import { html } from '../../lib/html.ts';
import { Checkbox, Fault, Field, Segments, useFaults } from '../../ui/form.ts';
import { Details } from '../../ui/page.ts';
import { chainsOf, type Rule, textOf, toInteger, withMember } from '../rule-sets/edit-rules.ts';
import { RulesFields } from '../rule-sets/rules-fields.ts';
import { SignInFields, walletsOf } from './sign-in-fields.ts';

const MODES = Object.entries({ sync: 'Wait for the answer', poll: 'Poll', webhook: 'Webhook' });
const BLOCK_TAGS = {
  '': 'The newest block',
  safe: 'The newest safe block',
  finalized: 'The newest finalized block',
};

/** The lines of a field while it is typed, and once it is left. */
const linesOf = (text) => (text === '' ? [] : text.split('\n'));
const tidyLinesOf = (text) => text.split(/[\s,]+/).filter(Boolean);

function withWallets({ account: _, accounts: __, ...rest }: Rule, [first = '', ...others]: string[]) {
  return others.length === 0 ? { account: first, ...rest } : { accounts: [first, ...others], ...rest };
}

/** A check with another value at a path, without objects that are empty. */
function withNested(check: Rule, [name = '', ...rest]: string[], value): Rule {
  if (rest.length === 0) return withMember(check, name, value);
  const inner = withNested(check[name] ?? {}, rest, value);
  return withMember(check, name, Object.keys(inner).length === 0 ? undefined : inner);
}

export function CheckFields({ check, setCheck, chains, knownUrl }) {
  const { ruleSet, accounts } = check;
  const [first, ...others] = walletsOf(check);
  const setFirst = (text) => setCheck(withWallets(check, [text, ...others]));
  return html`
    <${Field} label="Wallet" name="account" required maxlength="100" class="mono-input" placeholder="0x…" value=${first}
      pointer=${Array.isArray(accounts) ? '/accounts/0' : '/account'}
      onInput=${(event) => setFirst(event.target.value)} onChange=${(event) => setFirst(event.target.value.trim())} />
    <${Mode} check=${check} setCheck=${setCheck} knownUrl=${knownUrl} />
    ${typeof ruleSet === 'string' && html`<p class="notice">The rules are those of the rule set <code class="break">${ruleSet}</code>.</p>`}
    <${RulesFields} of=${check} onChange=${setCheck} chains=${chains} />
    <${SignInFields} check=${check} chains=${chains} setCheck=${setCheck} />
    <${More} check=${check} setCheck=${setCheck} />
  `;
}

function Mode({ check, setCheck, knownUrl }) {
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
    <${Fault} of="/async" />
  </div>
  ${
    mode === 'webhook' &&
    html`<${Field} label="Callback URL" name="callbackUrl" required maxlength="2048" class="mono-input"
      placeholder="https://example.com/hooks" value=${textOf(callbackUrl)}
      hint="The result is sent there, signed with the app's secret."
      onInput=${(event) => setUrl(event.target.value)} onChange=${(event) => setUrl(event.target.value.trim())} />`
  }`;
}

function More({ check, setCheck }) {
  const faults = useFaults();
  const { vaults, consistency, explain } = check;
  const [first = '', ...others] = walletsOf(check);
  const chains = chainsOf(check['rules'] ?? []);
  const blockTag = textOf(consistency?.blockTag);
  const pointers = Object.keys(faults);
  const hasFault = pointers.some((pointer) => /^\/(accounts|vaults|consistency)/.test(pointer));
  // The first address has its own field.
  const ofOthers = pointers.find((pointer) => /^\/accounts(\/[1-9][0-9]*)?$/.test(pointer)) ?? '';
  const isUsed = others.length > 0 || vaults !== undefined || consistency !== undefined;
  const setOthers = (lines: string[]) => setCheck(withWallets(check, [first, ...lines]));
  const setVaults = (lines: string[]) =>
    setCheck(withMember(check, 'vaults', lines.length === 0 ? undefined : lines));
  const blockField = (member: 'atBlock' | 'minBlock', label, chainId) => html`<${Field}
    label=${chains.length > 1 ? `${label} of chain ${chainId}` : label} name=${`consistency/${member}/${chainId}`} inputmode="numeric"
    maxlength="15" placeholder="any" value=${textOf(consistency?.[member]?.[chainId])}
    onInput=${({ target: { value } }) => setCheck(withNested(check, ['consistency', member, chainId], value.trim() === '' ? undefined : toInteger(value.trim())))} />`;
  return html`<${Details} summary="More options" isOpen=${hasFault || isUsed}>
    <div class="two">
      <${Field} label="Other addresses of the same person" as="textarea" rows="2" class="mono-input" name="accounts" value=${textOf(others)}
        placeholder="0x…" hint="One per line. Their holdings count together." fault=${faults[ofOthers] ?? false}
        onInput=${(event) => setOthers(linesOf(event.target.value))} onChange=${(event) => setOthers(tidyLinesOf(event.target.value))} />
      <${Field} label="Vaults" as="textarea" rows="2" class="mono-input" name="vaults" value=${textOf(vaults)} placeholder="0x…"
        hint="One per line. They count for the tokens that they have delegated in the delegate.xyz registry."
        onInput=${(event) => setVaults(linesOf(event.target.value))} onChange=${(event) => setVaults(tidyLinesOf(event.target.value))} />
    </div>
    <${Field} label="Read at" choices=${BLOCK_TAGS} name="consistency/blockTag" value=${blockTag} fault=${faults['/consistency/blockTag'] ?? faults['/consistency']}
      onChange=${({ target: { value } }) => setCheck(withNested(check, ['consistency', 'blockTag'], value || undefined))} />
    ${chains.map((chainId) => html`<div class="rule-grid" key=${chainId}>${blockField('atBlock', 'Exactly at block', chainId)}${blockField('minBlock', 'Not before block', chainId)}</div>`)}
    <${Checkbox} label="Show the amounts that were compared" name="explain" checked=${explain === true}
      onChange=${(event) => setCheck(withMember(check, 'explain', event.target.checked || undefined))} />
  <//>`;
}
