import { type Answer, type ApiError, ask, faultAt } from '../../lib/api.ts';
import { html, useEffect, useState } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { useApp } from '../../lib/session.ts';
import { useSubmit } from '../../lib/submit.ts';
import { Form, KeyField } from '../../ui/form.ts';
import { Card, loaded, PageHead } from '../../ui/page.ts';
import { NeedsScope } from '../frame/frame.ts';
import { newRule, type Rule } from '../rule-sets/edit-rules.ts';
import { EditorPanes, useJsonEditor } from '../rule-sets/json-editor.ts';
import { TryAnswer } from './answer.ts';
import { checkOfFragment, fragmentOf } from './check-address.ts';
import { makeExamples } from './check-examples.ts';
import { CheckFields } from './check-fields.ts';

/** Browsers refuse to change the address too often. */
const SAVE_AFTER_MS = 400;

export function Try() {
  const options = useResource('GET /api/try-options', {});
  return html`
    <${PageHead} title="Try it"><p class="sub">Runs a real check, which counts against the quota. The key goes to the
      gateway and is not kept.</p><//>
    ${loaded(options, (value) => html`<${Playground} ...${value} />`)}
  `;
}

type TriedCheck = Answer<'POST /api/apps/:clientId/try'> & { apiKey: string; check: Rule };

function Playground({ chains, demo }: Answer<'GET /api/try-options'>) {
  const { clientId } = useApp();
  const firstChain = chains[0]?.chainId;
  const editor = useCheckEditor({ account: '', explain: true, rules: [newRule(firstChain, 'role-1')] });
  const [answer, setAnswer] = useState<TriedCheck>();
  const newest = useResource('GET /api/apps/:clientId/deliveries', { clientId }, { limit: 1 });
  const send = async (values, idempotencyKey) => {
    setAnswer(undefined);
    const { fault, value: check } = editor.parsed;
    if (fault) throw faultAt('/json', fault.text);
    const body = { apiKey: values.apiKey.trim(), check };
    const sent = await ask('POST /api/apps/:clientId/try', { params: { clientId }, body, idempotencyKey });
    return { ...sent, ...body };
  };
  const form = useSubmit(send, setAnswer);
  const { errors } = (answer?.body ?? {}) as Partial<Pick<ApiError, 'errors'>>;
  const faults = { ...faultsOf(form.error?.errors, '/check'), ...faultsOf(errors, ''), ...form.faults };
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
      <${Form} form=${{ ...form, faults }} submit="Run check" label="A check">
        <${KeyField} />
        <${EditorPanes} editor=${editor} what="Check" hint="Form and JSON stay in sync. Ctrl+Enter runs the check."
          note=${editor.isKept ? 'This check is kept in the address of the page, without the key.' : 'It is too long or contains a key, so it is not kept in the address of the page.'}>
          <${CheckFields} check=${editor.value} setCheck=${editor.setValue} chains=${chains}
            knownUrl=${newest.value?.deliveries[0]?.callbackUrl ?? ''} />
        <//>
      <//>
    <//>
    ${answer && html`<${TryAnswer} answer=${answer} />`}
  `;
}

/** Faults by pointer, of the check's own fields: `/rules/0/minToken`. An undetermined rule is not
 * a fault of a field. */
const faultsOf = (errors: ApiError['errors'] = [], prefix: string): Record<string, string> =>
  Object.fromEntries(
    errors
      .filter(({ pointer }) => pointer?.startsWith(prefix))
      .map(({ pointer, detail }) => [pointer.slice(prefix.length), detail]),
  );

/** The editor of a check. It is kept in the address, so that a reload and a shared link open the
 * same check. */
function useCheckEditor(first: Rule) {
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
