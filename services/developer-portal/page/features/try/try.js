import { ask, faultAt } from '../../lib/api.js';
import { html, useEffect, useState } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { keptKeys, useApp } from '../../lib/session.js';
import { useSubmit } from '../../lib/submit.js';
import { Form, KeyField } from '../../ui/form.js';
import { Card, loaded, PageHead } from '../../ui/page.js';
import { NeedsScope } from '../frame/frame.js';
import { newRule } from '../rule-sets/edit-rules.js';
import { JsonPane, useJsonEditor } from '../rule-sets/json-editor.js';
import { TryAnswer } from './answer.js';
import { checkOfFragment, fragmentOf } from './check-address.js';
import { makeExamples } from './check-examples.js';
import { CheckFields } from './check-fields.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @import { Rule } from '../rule-sets/edit-rules.js' */

/** Browsers refuse to change the address too often. */
const SAVE_AFTER_MS = 400;

/** A check as a form and as JSON, run with the app's own key; the request and the answer. */
export function Try() {
  const options = useResource('GET /api/try-options', {});
  return html`
    <${PageHead} title="Try it"><p class="sub">Runs a real check, which counts against the quota. The key goes to the
      gateway and is not kept.</p><//>
    ${loaded(options, (value) => html`<${Playground} ...${value} />`)}
  `;
}

/** @param {Answer<'GET /api/try-options'>} props */
function Playground({ chains, demo }) {
  const { clientId } = useApp();
  const firstChain = chains[0]?.chainId;
  const editor = useCheckEditor({ account: '', explain: true, rules: [newRule(firstChain, 'role-1')] });
  const [apiKey, setApiKey] = useState(keptKeys.get(clientId) ?? '');
  const [answer, setAnswer] = useState(/** @type {any} */ (undefined));
  const newest = useResource('GET /api/apps/:clientId/deliveries', { clientId }, { limit: 1 });
  const send = async (_, idempotencyKey) => {
    setAnswer(undefined);
    const { fault, value: check } = editor.parsed;
    if (fault) throw faultAt('/json', fault.text);
    const body = { apiKey: apiKey.trim(), check };
    const sent = await ask('POST /api/apps/:clientId/try', { params: { clientId }, body, idempotencyKey });
    return { ...sent, ...body };
  };
  const form = useSubmit(send, setAnswer);
  const faults = {
    ...faultsOf(form.error?.errors, '/check'),
    ...faultsOf(answer?.body?.errors, ''),
    ...form.faults,
  };
  return html`
    <${NeedsScope}>Without the approved scope the answer is 403.<//>
    <div class="examples" role="group" aria-label="Examples">
      <span class="label">Examples</span>
      ${makeExamples(demo, firstChain).map(
        ([name, check]) =>
          html`<button key=${name} type="button" onClick=${() => editor.setValue(check)}>${name}</button>`,
      )}
    </div>
    <${Card} class="playground">
      <${Form} form=${form} submit="Run check" label="A check">
        <${KeyField} value=${apiKey} onText=${setApiKey} />
        <div class="panes">
          <${CheckFields} check=${editor.value} isShown=${editor.isShown} setCheck=${editor.setValue} chains=${chains} faults=${faults} apiKey=${apiKey}
            knownUrl=${newest.value?.deliveries[0]?.callbackUrl ?? ''} />
          <${JsonPane} editor=${editor} faults=${faults} label="Check as JSON" hint="Form and JSON stay in sync. Ctrl+Enter runs the check."
            note=${editor.isKept ? 'This check is kept in the address of the page, without the key.' : 'It is too long or contains a key, so it is not kept in the address of the page.'} />
        </div>
      <//>
    <//>
    ${answer && html`<${TryAnswer} answer=${answer} />`}
  `;
}

/**
 * Faults by pointer, of the check's own fields: `/rules/0/minToken`. An undetermined rule is not a
 * fault of a field.
 * @returns {Record<string, string>}
 */
const faultsOf = (errors, prefix) =>
  Object.fromEntries(
    (Array.isArray(errors) ? errors : [])
      .filter(({ pointer }) => typeof pointer === 'string' && pointer.startsWith(prefix))
      .map(({ pointer, detail }) => [pointer.slice(prefix.length), String(detail)]),
  );

/**
 * The editor of a check. It is kept in the address, so that a reload and a shared link open the same
 * check.
 * @param {Rule} first
 */
function useCheckEditor(first) {
  const editor = useJsonEditor(() => checkOfFragment(location.hash) ?? first);
  const { parsed, setValue } = editor;
  const fragment = parsed.fault ? undefined : fragmentOf(parsed.value);
  useEffect(() => {
    if (fragment === undefined || fragment === location.hash) return undefined;
    const save = () => history.replaceState(null, '', location.pathname + location.search + fragment);
    const timer = setTimeout(save, SAVE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [fragment]);
  useEffect(() => {
    const follow = () => {
      const check = checkOfFragment(location.hash);
      if (check) setValue(check);
    };
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return { ...editor, isKept: parsed.fault !== undefined || fragment !== undefined };
}
