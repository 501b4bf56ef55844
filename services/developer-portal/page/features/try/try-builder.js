import { html } from '../../lib/html.js';
import { Field } from '../../ui/field.js';
import { countRules, newRule, RULES_MAX } from './build-check.js';
import { RuleFields } from './rule-fields.js';
import { TryMode, TryOptions } from './try-options.js';

const POLICIES = [
  ['omit', 'Leave the rule out'],
  ['deny', 'Deny the rule'],
  ['fail', 'Fail the check'],
];

/** The check as a form. Its fields rest while they cannot show the JSON. */
export function TryBuilder({ editor, chains, faults, knownUrl }) {
  const { form, isShown, setForm } = editor;
  const { rules, onUndetermined } = form;
  const change = (changes) => setForm({ ...form, ...changes });
  const changeRule = (place, changed) =>
    change({ rules: rules.map((rule, at) => (at === place ? changed : rule)) });
  const canAdd = countRules(rules) < RULES_MAX;
  const chainId = rules.at(-1)?.chainId || String(chains[0]?.chainId ?? '');
  const add = () => change({ rules: [...rules, newRule(rules.length + 1, chainId)] });
  const ruleSet = form.extra.ruleSet;
  return html`<fieldset class="try-builder" disabled=${!isShown}>
    <legend class="visually-hidden">Check as a form</legend>
    <${Field} label="Wallet" name="account" required maxlength="100" class="mono-input" placeholder="0x…" value=${form.account}
      onInput=${(event) => change({ account: event.target.value })} fault=${faults['/account'] ?? faults['/accounts/0']} />
    <${TryMode} form=${form} faults=${faults} change=${change} knownUrl=${knownUrl} />
    ${faults['/rules'] && html`<p class="fault">${faults['/rules']}</p>`}
    ${typeof ruleSet === 'string' && html`<p class="notice">The rules are those of the rule set <code class="break">${ruleSet}</code>.</p>`}
    ${rules.map(
      (
        rule,
        place,
      ) => html`<${RuleFields} key=${place} rule=${rule} path=${`/rules/${place}`} chains=${chains} faults=${faults}
        canAdd=${canAdd} onChange=${(changed) => changeRule(place, changed)}
        onRemove=${rules.length > 1 ? () => change({ rules: rules.filter((_, at) => at !== place) }) : undefined} />`,
    )}
    <div class="inline spread">
      <button type="button" onClick=${add} disabled=${!canAdd}>Add a rule</button>
      <${Field} label="A rule that cannot be read" as="select" name="onUndetermined" value=${onUndetermined}
        onChange=${(event) => change({ onUndetermined: event.target.value })} fault=${faults['/onUndetermined']}>
        ${POLICIES.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
        ${POLICIES.every(([value]) => value !== onUndetermined) && html`<option value=${onUndetermined}>${onUndetermined}</option>`}
      <//>
    </div>
    <${TryOptions} form=${form} faults=${faults} change=${change} />
  </fieldset>`;
}
