import { ask, faultAt } from '../../lib/api.js';
import { formatPlural } from '../../lib/format.js';
import { html, when } from '../../lib/html.js';
import { usePages, useResource } from '../../lib/resources.js';
import { navigate } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { useSubmit } from '../../lib/submit.js';
import { JsonView } from '../../ui/copy.js';
import { Confirm, Field, Form, useDialog } from '../../ui/form.js';
import { Card, Empty, loaded, PageHead } from '../../ui/page.js';
import { toast } from '../../ui/toasts.js';
import { Badge, pagedRows, Time } from '../../ui/values.js';
import { Missing, NeedsScope, NotAllowed } from '../frame/frame.js';
import { newRule, textOf, withMember } from './edit-rules.js';
import { JsonPane, useJsonEditor } from './json-editor.js';
import { Preview } from './preview.js';
import { RulesFields } from './rules-fields.js';

/** @import { VNode } from '/assets/vendor/htm-preact.js' */
/** @import { Answer } from '../../lib/types.ts' */
/** @import { Chains } from './rules-fields.js' */
/** @typedef {Answer<'GET /api/apps/:clientId/rule-sets/:ruleSetId'>} StoredRuleSet */

/** In the address of a rule set that is to be made: no rule set can have this id. */
const NEW = '-new';

/** The stored rule sets of the app, by id. */
export function RuleSets() {
  const { clientId, base, may } = useApp();
  const pages = usePages('GET /api/apps/:clientId/rule-sets', { clientId }, 'ruleSets', 'after');
  return html`
    <${PageHead} title="Rule sets" aside=${may('putRuleSet') && html`<a class="button primary" href=${`${base}/rule-sets/${NEW}`}>New rule set</a>`}>
      <p class="sub">Rules stored under an id. A check names them by <code>ruleSet</code> instead of <code>rules</code>.</p>
    <//>
    <${NeedsScope}>Rule sets can be stored once the scope is approved.<//>
    <${Card}>${pagedRows(
      pages,
      html`<${Empty} title="No rule sets yet"><p>Store the rules of your roles once, and every check may name them.</p><//>`,
      ({ ruleSetId, version, name, ruleCount, updatedAt }) => html`<li key=${ruleSetId}>
          <div class="grow">
            <p class="row-title break"><a href=${`${base}/rule-sets/${encodeURIComponent(ruleSetId)}`}>${ruleSetId}</a></p>
            <p class="sub break">${name && `${name} · `}${formatPlural(ruleCount, 'rule')} · changed <${Time} at=${updatedAt} /></p>
          </div>
          <div class="badges"><${Badge}>Version ${version}<//></div>
        </li>`,
    )}<//>
  `;
}

/** One rule set: to be created, changed or deleted. */
export function RuleSet({ item }) {
  const { may } = useApp();
  if (item !== NEW) return html`<${Stored} id=${item} />`;
  return may('putRuleSet') ? html`<${Editor} />` : html`<${NotAllowed} title="New rule set" />`;
}

function Stored({ id }) {
  const { clientId, may } = useApp();
  const resource = useResource('GET /api/apps/:clientId/rule-sets/:ruleSetId', { clientId, ruleSetId: id });
  if (resource.error?.status === 404) return html`<${Missing} />`;
  return loaded(
    resource,
    (value) => {
      if (may('putRuleSet'))
        return html`<${Editor} key=${value.version} stored=${value} reload=${resource.reload} />`;
      const { name, rules, onUndetermined } = value;
      return html`<${StoredHead} stored=${value} />
        <${Card} title="Rules"><${JsonView} value=${{ name, rules, onUndetermined }} label="Rule set" /><//>`;
    },
    id,
  );
}

/** @param {{ stored: StoredRuleSet, aside?: VNode }} props */
const StoredHead = ({ stored, aside }) => html`<${PageHead} title=${stored.ruleSetId} aside=${aside}>
  <p class="sub"><${Badge}>Version ${stored.version}<//> changed <${Time} at=${stored.updatedAt} /> <code class="break">${stored.digest}</code></p>
<//>`;

/** @param {{ stored?: StoredRuleSet, reload?: () => void }} props */
const Editor = (props) =>
  loaded(
    useResource('GET /api/try-options', {}),
    ({ chains }) => html`<${EditorForm} ...${props} chains=${chains} />`,
  );

/** @param {{ stored?: StoredRuleSet, reload?: () => void, chains: Chains }} props */
function EditorForm({ stored, reload, chains }) {
  const { clientId, base, may } = useApp();
  const [dialog, open] = useDialog(() => navigate(`${base}/rule-sets`));
  const { name, rules = [newRule(chains[0]?.chainId, 'holder')], onUndetermined } = stored ?? {};
  const editor = useJsonEditor(() => ({
    ...(name !== undefined && { name }),
    rules,
    ...(onUndetermined !== undefined && onUndetermined !== 'omit' && { onUndetermined }),
  }));
  const { parsed, value, isShown, setValue } = editor;
  const send = async ({ id }) => {
    if (parsed.fault) throw faultAt('/json', parsed.fault.text);
    return ask('PUT /api/apps/:clientId/rule-sets/:ruleSetId', {
      params: { clientId, ruleSetId: stored?.ruleSetId ?? id.trim() },
      body: { ruleSet: parsed.value, replaces: stored?.version ?? 0 },
    });
  };
  const form = useSubmit(send, ({ ruleSetId, version }) => {
    toast(`Rule set stored: version ${version}`);
    if (reload) reload();
    else navigate(`${base}/rule-sets/${encodeURIComponent(ruleSetId)}`);
  });
  /** @param {StoredRuleSet} ruleSet */
  const destroy = ({ ruleSetId }) =>
    open(html`<${Confirm} title="Delete this rule set?" action="Delete rule set"
        send=${() => ask('DELETE /api/apps/:clientId/rule-sets/:ruleSetId', { params: { clientId, ruleSetId } })}
        said="Rule set deleted">
        <p>Checks that name <strong class="break">${ruleSetId}</strong> will be answered with 422.</p>
      <//>`);
  return html`
    ${
      stored
        ? html`<${StoredHead} stored=${stored}
            aside=${html`<a class="button" href=${`${base}/batches/-new?ruleSet=${encodeURIComponent(stored.ruleSetId)}`}>Start a batch</a>`} />`
        : html`<${PageHead} title="New rule set" />`
    }
    <${Card} class="playground"><${Form} form=${form} submit=${stored ? 'Store the changes' : 'Store'} label="A rule set">
      ${
        !stored &&
        html`<${Field} label="Id" name="id" required maxlength="64" class="mono-input" placeholder="holders"
          hint="a to z, 0 to 9, dots, dashes and underscores. Checks name it, and it cannot be changed." />`
      }
      <div class="panes">
        <fieldset class="try-builder" disabled=${!isShown}>
          <legend class="visually-hidden">Rule set as a form</legend>
          <${Field} label="Name" name="name" maxlength="256" value=${textOf(value['name'])} fault=${form.faults['/name']}
            onInput=${(event) => setValue(withMember(value, 'name', event.target.value || undefined))} />
          <${RulesFields} of=${value} onChange=${setValue} chains=${chains} faults=${form.faults} />
        </fieldset>
        <${JsonPane} editor=${editor} faults=${form.faults} label="Rule set as JSON" hint="Form and JSON stay in sync." />
      </div>
    <//><//>
    ${stored && may('startBatch') && html`<${Preview} ruleSetId=${stored.ruleSetId} editor=${editor} />`}
    ${when(
      stored,
      (ruleSet) => html`<${Card} title="Delete this rule set" class="danger-zone">
        <p class="prose">Checks that name it are refused from then on. Accepted checks are not affected.</p>
        <button type="button" class="danger" onClick=${() => destroy(ruleSet)}>Delete rule set…</button>
      <//>`,
    )}
    ${dialog}
  `;
}
