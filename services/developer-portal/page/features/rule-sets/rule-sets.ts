import { type Answer, ask, faultAt, sends } from '../../lib/api.ts';
import { formatPlural } from '../../lib/format.ts';
import { html } from '../../lib/html.ts';
import { usePages, useResource } from '../../lib/resources.ts';
import { navigate } from '../../lib/router.ts';
import { useApp } from '../../lib/session.ts';
import { useSubmit } from '../../lib/submit.ts';
import { JsonView } from '../../ui/copy.ts';
import { Confirm, Field, Form, openDialog } from '../../ui/form.ts';
import { Card, DangerZone, Empty, loaded, loadedPage, Paged, PageHead } from '../../ui/page.ts';
import { toast } from '../../ui/toasts.ts';
import { Badge, Time } from '../../ui/values.ts';
import { NeedsScope } from '../frame/frame.ts';
import { NEW } from '../frame/path-parts.ts';
import { newRule, textOf, withMember } from './edit-rules.ts';
import { EditorPanes, useJsonEditor } from './json-editor.ts';
import { Preview } from './preview.ts';
import { RulesFields } from './rules-fields.ts';

type StoredRuleSet = Answer<'GET /api/apps/:clientId/rule-sets/:ruleSetId'>;

export function RuleSets() {
  const { clientId, base, may } = useApp();
  const pages = usePages('GET /api/apps/:clientId/rule-sets', { clientId }, 'ruleSets');
  return html`
    <${PageHead} title="Rule sets" aside=${may('putRuleSet') && html`<a class="button primary" href=${`${base}/rule-sets/${NEW}`}>New rule set</a>`}>
      <p class="sub">Rules stored under an id. A check names them by <code>ruleSet</code> instead of <code>rules</code>.</p>
    <//>
    <${NeedsScope}>Rule sets can be stored once the scope is approved.<//>
    <${Card}><${Paged} of=${pages} empty=${html`<${Empty} title="No rule sets yet"><p>Store the rules of your roles once, and every check may name them.</p><//>`}><ul class="rows">${pages.rows.map(
      ({ ruleSetId, version, name, ruleCount, updatedAt }) => html`<li key=${ruleSetId}>
          <div class="grow">
            <p class="row-title break"><a href=${`${base}/rule-sets/${encodeURIComponent(ruleSetId)}`}>${ruleSetId}</a></p>
            <p class="sub break">${name && `${name} · `}${formatPlural(ruleCount, 'rule')} · changed <${Time} at=${updatedAt} /></p>
          </div>
          <div class="badges"><${Badge}>Version ${version}<//></div>
        </li>`,
    )}</ul><//><//>
  `;
}

export function RuleSet({ item: id }) {
  const { clientId, may } = useApp();
  const resource = useResource('GET /api/apps/:clientId/rule-sets/:ruleSetId', { clientId, ruleSetId: id });
  return loadedPage(resource, id, (value) => {
    if (may('putRuleSet'))
      return html`<${Editor} key=${value.version} stored=${value} reload=${resource.reload} />`;
    const { name, rules, onUndetermined } = value;
    return html`<${StoredHead} stored=${value} />
        <${Card} title="Rules"><${JsonView} value=${{ name, rules, onUndetermined }} label="Rule set" /><//>`;
  });
}

const StoredHead = ({ stored, aside }) => html`<${PageHead} title=${stored.ruleSetId} aside=${aside}>
  <p class="sub"><${Badge}>Version ${stored.version}<//> changed <${Time} at=${stored.updatedAt} /> <code class="break">${stored.digest}</code></p>
<//>`;

/** Of a new rule set, or of one that is stored. */
export const Editor = (props) =>
  loaded(
    useResource('GET /api/try-options', {}),
    ({ chains }) => html`<${EditorForm} ...${props} chains=${chains} />`,
  );

/** A rule set that is new, or `stored` and read again by `reload`. */
function EditorForm({ stored, reload, chains }) {
  const { clientId, base, may } = useApp();
  const first: Partial<StoredRuleSet> = stored ?? {};
  const { name, rules = [newRule(chains[0]?.chainId, 'holder')], onUndetermined } = first;
  const editor = useJsonEditor(() => ({
    ...(name !== undefined && { name }),
    rules,
    ...(onUndetermined !== undefined && onUndetermined !== 'omit' && { onUndetermined }),
  }));
  const { parsed, value, setValue } = editor;
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
  const destroy = () =>
    openDialog(html`<${Confirm} after=${() => navigate(`${base}/rule-sets`)} title="Delete this rule set?" action="Delete rule set" said="Rule set deleted"
        send=${sends('DELETE /api/apps/:clientId/rule-sets/:ruleSetId', { clientId, ruleSetId: stored.ruleSetId })}>
        <p>Checks that name <strong class="break">${stored.ruleSetId}</strong> will be answered with 422.</p>
      <//>`);
  const batch = `${base}/batches/${NEW}?ruleSet=${encodeURIComponent(stored?.ruleSetId ?? '')}`;
  const idField = html`<${Field} label="Id" name="id" required maxlength="64" class="mono-input" placeholder="holders"
    pattern=" *[a-z0-9][a-z0-9._\\-]* *" data-mismatch="Write a to z, 0 to 9, dots, dashes and underscores; a letter or a digit first."
    hint="a to z, 0 to 9, dots, dashes and underscores. Checks name it, and it cannot be changed." />`;
  return html`
    ${
      stored
        ? html`<${StoredHead} stored=${stored} aside=${html`<a class="button" href=${batch}>Start a batch</a>`} />`
        : html`<${PageHead} title="New rule set" />`
    }
    <${Card} class="playground"><${Form} form=${form} submit=${stored ? 'Store the changes' : 'Store'} label="A rule set">
      ${!stored && idField}
      <${EditorPanes} editor=${editor} what="Rule set">
        <${Field} label="Name" name="name" maxlength="256" value=${textOf(value['name'])}
          onInput=${(event) => setValue(withMember(value, 'name', event.target.value || undefined))} />
        <${RulesFields} of=${value} onChange=${setValue} chains=${chains} />
      <//>
    <//><//>
    ${stored && may('startBatch') && html`<${Preview} ruleSetId=${stored.ruleSetId} editor=${editor} />`}
    ${
      stored &&
      html`<${DangerZone} title="Delete this rule set" action="Delete rule set…" onClick=${destroy}>
        Checks that name it are refused from then on. Accepted checks are not affected.
      <//>`
    }
  `;
}
