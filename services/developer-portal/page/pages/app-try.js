import { ask } from '../core/api.js';
import { buildCheck, countRules, demoRules, newRule, RULES_MAX } from '../core/build-check.js';
import { html, useState } from '../core/html.js';
import { keptKey } from '../core/kept-keys.js';
import { useApp } from '../core/session.js';
import { useResource } from '../core/use-resource.js';
import { useSubmit } from '../core/use-submit.js';
import { Field } from '../parts/field.js';
import { Form } from '../parts/form.js';
import { PageHead } from '../parts/page-head.js';
import { Card, Loaded } from '../parts/states.js';
import { RuleFields } from './rule-fields.js';
import { TryAnswer } from './try-answer.js';
import { NO_OPTIONS, TryOptions } from './try-options.js';

const POLICIES = [
  ['omit', 'Leave the rule out'],
  ['deny', 'Deny the rule'],
  ['fail', 'Fail the check'],
];

/** A form that runs a check with the app's own key, and shows what went over the wire. */
export function Try() {
  const options = useResource('/api/try-options');
  return html`
    <${PageHead} title="Try it"><p class="sub">Runs a real check, which counts against the quota. The key goes to the
      gateway and is not kept.</p><//>
    <${Loaded} resource=${options}>${(value) => html`<${TryForm} ...${value} />`}<//>
  `;
}

function TryForm({ chains, demo }) {
  const { app, api, base } = useApp();
  const firstChain = String(chains[0]?.chainId ?? '');
  const [account, setAccount] = useState('');
  const [apiKey, setApiKey] = useState(() => keptKey(app.clientId));
  const [onUndetermined, setPolicy] = useState('omit');
  const [rules, setRules] = useState(() => [newRule(1, firstChain)]);
  const [more, setMore] = useState(NO_OPTIONS);
  const [answer, setAnswer] = useState(undefined);
  const send = async (_, idempotencyKey) => {
    setAnswer(undefined);
    const check = buildCheck({ account, onUndetermined, rules, ...more });
    const body = { apiKey: apiKey.trim(), check };
    return { ...(await ask('POST', `${api}/try`, { body, idempotencyKey })), check };
  };
  const form = useSubmit(send, setAnswer);
  const faults = {
    ...faultsOf(form.error?.errors, '/check'),
    ...faultsOf(answer?.body?.errors, ''),
    ...form.faults,
  };
  const change = (place, changed) => setRules(rules.map((rule, at) => (at === place ? changed : rule)));
  const canAdd = countRules(rules) < RULES_MAX;
  const add = () =>
    setRules([...rules, { ...newRule(rules.length + 1), chainId: rules.at(-1)?.chainId ?? firstChain }]);
  const fillIn = (wallet) => {
    setAccount(wallet);
    setRules(demoRules(demo));
  };
  return html`
    ${
      app.scope.state !== 'approved' &&
      html`<p class="notice warn">Without the approved scope the answer is 403. <a href=${`${base}/scope`}>Request the scope</a></p>`
    }
    ${demo && html`<${DemoFill} demo=${demo} onFill=${fillIn} />`}
    <${Card}>
      <${Form} form=${form} submit="Run check" label="A check">
        <div class="two">
          <${Field} label="API key" name="apiKey" required maxlength="100" class="mono-input" value=${apiKey}
            placeholder="rck_live_…" onInput=${(event) => setApiKey(event.target.value)} fault=${faults['/apiKey']}
            hint=${keptKey(app.clientId) === '' ? 'Paste a key of this app.' : 'The key that you have just made.'} />
          <${Field} label="Wallet" name="account" required maxlength="100" class="mono-input" placeholder="0x…" value=${account}
            onInput=${(event) => setAccount(event.target.value)} fault=${faults['/account'] ?? faults['/accounts/0']} />
        </div>
        ${rules.map(
          (
            rule,
            place,
          ) => html`<${RuleFields} key=${place} rule=${rule} path=${`/rules/${place}`} chains=${chains} faults=${faults}
            canAdd=${canAdd} onChange=${(changed) => change(place, changed)}
            onRemove=${rules.length > 1 ? () => setRules(rules.filter((_, at) => at !== place)) : undefined} />`,
        )}
        <div class="inline spread">
          <button type="button" onClick=${add} disabled=${!canAdd}>Add a rule</button>
          <${Field} label="A rule that cannot be read" as="select" name="onUndetermined" value=${onUndetermined}
            onChange=${(event) => setPolicy(event.target.value)}>
            ${POLICIES.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
          <//>
        </div>
        <${TryOptions} more=${more} rules=${rules} faults=${faults} onChange=${setMore} />
      <//>
    <//>
    ${answer && html`<${TryAnswer} answer=${answer} />`}
  `;
}

/** On a system with a demo chain: wallets and tokens to begin with. */
const DemoFill = ({ demo, onFill }) => html`<div class="notice inline spread">
  <p>This system has a demo chain with an ERC20, an ERC721 and an ERC1155. Fill in a check of them for:</p>
  <div class="inline">
    <button type="button" onClick=${() => onFill(demo.holder)}>A wallet that holds them</button>
    <button type="button" onClick=${() => onFill(demo.stranger)}>A wallet that does not</button>
  </div>
</div>`;

/** Faults by pointer, of the check's own fields: `/rules/0/minToken`. An undetermined rule is no fault of a field. */
const faultsOf = (errors, prefix) =>
  Object.fromEntries(
    (Array.isArray(errors) ? errors : [])
      .filter(({ pointer }) => typeof pointer === 'string' && pointer.startsWith(prefix))
      .map(({ pointer, detail }) => [pointer.slice(prefix.length), String(detail)]),
  );
