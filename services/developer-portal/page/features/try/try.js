import { ask } from '../../lib/api.js';
import { html, useState } from '../../lib/html.js';
import { keptKey } from '../../lib/kept-keys.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { Card, Loaded } from '../../ui/states.js';
import { newForm } from './build-check.js';
import { makeExamples } from './check-examples.js';
import { TryAnswer } from './try-answer.js';
import { TryBuilder } from './try-builder.js';
import { TryJson } from './try-json.js';
import { useCheckEditor } from './use-check-editor.js';

/** A check as a form and as JSON, run with the app's own key; the request and the answer. */
export function Try() {
  const options = useResource('/api/try-options');
  return html`
    <${PageHead} title="Try it"><p class="sub">Runs a real check, which counts against the quota. The key goes to the
      gateway and is not kept.</p><//>
    <${Loaded} resource=${options}>${(value) => html`<${Playground} ...${value} />`}<//>
  `;
}

function Playground({ chains, demo }) {
  const { app, api, base } = useApp();
  const firstChain = chains[0]?.chainId ?? '';
  const editor = useCheckEditor(() => newForm(String(firstChain)));
  const [apiKey, setApiKey] = useState(() => keptKey(app.clientId));
  const [answer, setAnswer] = useState(undefined);
  const newest = useResource(`${api}/deliveries?limit=1`);
  const send = async (_, idempotencyKey) => {
    setAnswer(undefined);
    const { fault, value: check } = editor.parsed;
    if (fault) throw faultOfJson(fault.text);
    const key = apiKey.trim();
    const sent = await ask('POST', `${api}/try`, { body: { apiKey: key, check }, idempotencyKey });
    return { ...sent, check, apiKey: key };
  };
  const form = useSubmit(send, setAnswer);
  const faults = {
    ...faultsOf(form.error?.errors, '/check'),
    ...faultsOf(answer?.body?.errors, ''),
    ...form.faults,
  };
  const keyHint =
    keptKey(app.clientId) === '' ? 'Paste a key of this app.' : 'The key that you have just made.';
  return html`
    ${
      app.scope.state !== 'approved' &&
      html`<p class="notice warn">Without the approved scope the answer is 403. <a href=${`${base}/scope`}>Request the scope</a></p>`
    }
    <div class="examples" role="group" aria-label="Examples">
      <span class="label">Examples</span>
      ${makeExamples(demo, firstChain).map(
        ([name, check]) =>
          html`<button key=${name} type="button" onClick=${() => editor.open(check)}>${name}</button>`,
      )}
    </div>
    <${Card} class="playground">
      <${Form} form=${form} submit="Run check" label="A check">
        <${Field} label="API key" name="apiKey" required maxlength="100" class="mono-input" value=${apiKey}
          placeholder="rck_live_…" onInput=${(event) => setApiKey(event.target.value)} fault=${faults['/apiKey']} hint=${keyHint} />
        <div class="panes">
          <${TryBuilder} editor=${editor} chains=${chains} faults=${faults} knownUrl=${newest.value?.deliveries[0]?.callbackUrl ?? ''} />
          <${TryJson} editor=${editor} faults=${faults} />
        </div>
      <//>
    <//>
    ${answer && html`<${TryAnswer} answer=${answer} />`}
  `;
}

const faultOfJson = (text) => Object.assign(new Error(text), { status: 422, faults: { '/json': text } });

/** Faults by pointer, of the check's own fields: `/rules/0/minToken`. An undetermined rule is not a fault of a field. */
const faultsOf = (errors, prefix) =>
  Object.fromEntries(
    (Array.isArray(errors) ? errors : [])
      .filter(({ pointer }) => typeof pointer === 'string' && pointer.startsWith(prefix))
      .map(({ pointer, detail }) => [pointer.slice(prefix.length), String(detail)]),
  );
