import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { parseJson } from '../../lib/parse-json.js';
import { navigate } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Confirm } from '../../ui/confirm.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { JsonView } from '../../ui/json-view.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Loaded, Time } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { Missing } from '../frame/missing.js';
import { NotAllowed } from '../frame/not-allowed.js';

/** In the address of a rule set that is to be made: no rule set can have this id. */
export const NEW = '-new';

const POLICIES = [
  ['omit', 'Leave the rule out'],
  ['deny', 'Deny the rule'],
  ['fail', 'Fail the check'],
];
const EXAMPLE = [{ type: 'NATIVE', chainId: 1, roleId: 'holder', minToken: '1' }];

/** One rule set: to be created, changed or deleted. */
export function RuleSet({ item }) {
  const { may } = useApp();
  if (item !== NEW) return html`<${Stored} id=${item} />`;
  return may('putRuleSet') ? html`<${Editor} />` : html`<${NotAllowed} title="New rule set" />`;
}

function Stored({ id }) {
  const { api, may } = useApp();
  const resource = useResource(`${api}/rule-sets/${encodeURIComponent(id)}`);
  if (resource.error?.status === 404) return html`<${Missing} />`;
  return html`<${Loaded} resource=${resource} title=${id}>${(value) =>
    may('putRuleSet')
      ? html`<${Editor} key=${value.version} stored=${value} reload=${resource.reload} />`
      : html`<${ReadOnly} stored=${value} />`}<//>`;
}

const StoredHead = ({ stored, aside }) => html`<${PageHead} title=${stored.ruleSetId} aside=${aside}>
  <p class="sub"><${Badge}>Version ${stored.version}<//> changed <${Time} at=${stored.updatedAt} /> <code class="break">${stored.digest}</code></p>
<//>`;

const ReadOnly = ({ stored: { name, rules, onUndetermined, ...stored } }) => html`
  <${StoredHead} stored=${stored} />
  <${Card} title="Rules"><${JsonView} value=${{ name, rules, onUndetermined }} label="Rule set" /><//>
`;

function Editor({ stored, reload }) {
  const { api, base } = useApp();
  const [isDeleting, setIsDeleting] = useState(false);
  const send = ({ id, name, rules, onUndetermined }) => {
    const ruleSet = { ...(name.trim() && { name: name.trim() }), rules: parseRules(rules), onUndetermined };
    const path = `${api}/rule-sets/${encodeURIComponent(stored?.ruleSetId ?? id.trim())}`;
    return ask('PUT', path, { body: { ruleSet, replaces: stored?.version ?? 0 } });
  };
  const form = useSubmit(send, ({ ruleSetId, version }) => {
    toast(`Rule set stored: version ${version}`);
    if (stored) reload();
    else navigate(`${base}/rule-sets/${encodeURIComponent(ruleSetId)}`);
  });
  // The detail of a fault names its pointer.
  const ofRules = Object.entries(form.faults).filter(([pointer]) => pointer.startsWith('/rules'));
  return html`
    ${
      stored
        ? html`<${StoredHead} stored=${stored}
            aside=${html`<a class="button" href=${`${base}/batches/-new?ruleSet=${encodeURIComponent(stored.ruleSetId)}`}>Start a batch</a>`} />`
        : html`<${PageHead} title="New rule set" />`
    }
    <${Card}><${Form} form=${form} submit=${stored ? 'Store the changes' : 'Store'} label="A rule set">
      ${
        !stored &&
        html`<${Field} label="Id" name="id" required maxlength="64" class="mono-input" placeholder="holders"
          hint="a to z, 0 to 9, dots, dashes and underscores. Checks name it, and it cannot be changed." fault=${form.faults['/id']} />`
      }
      <${Field} label="Name" name="name" maxlength="256" defaultValue=${stored?.name ?? ''} fault=${form.faults['/name']} />
      <${Field} label="Rules" as="textarea" name="rules" rows="18" required class="mono-input" spellcheck=${false}
        defaultValue=${JSON.stringify(stored?.rules ?? EXAMPLE, null, 2)}
        hint="The list that a check has in its member rules, as JSON." fault=${ofRules.map(([, detail]) => detail).join(' ')} />
      <${Field} label="A rule that cannot be read" as="select" name="onUndetermined" defaultValue=${stored?.onUndetermined ?? 'omit'}>
        ${POLICIES.map(([value, text]) => html`<option value=${value} selected=${value === (stored?.onUndetermined ?? 'omit')}>${text}</option>`)}
      <//>
    <//><//>
    ${
      stored &&
      html`<${Card} title="Delete this rule set" class="danger-zone">
        <p class="prose">Checks that name it are refused from then on. Accepted checks are not affected.</p>
        <button type="button" class="danger" onClick=${() => setIsDeleting(true)}>Delete rule set…</button>
      <//>`
    }
    ${
      isDeleting &&
      html`<${Confirm} title="Delete this rule set?" action="Delete rule set"
        send=${() => ask('DELETE', `${api}/rule-sets/${encodeURIComponent(stored.ruleSetId)}`)} onClose=${() => setIsDeleting(false)}
        onDone=${() => {
          toast('Rule set deleted');
          navigate(`${base}/rule-sets`);
        }}><p>Checks that name <strong class="break">${stored.ruleSetId}</strong> will be answered with 422.</p><//>`
    }
  `;
}

/** @throws a fault of the field if the text is not JSON: the server has nothing to judge then */
function parseRules(text) {
  const { value, fault } = parseJson(text);
  if (fault === undefined) return value;
  throw Object.assign(new Error(''), {
    status: 422,
    faults: { '/rules': `This is not JSON. ${fault.text}` },
  });
}
