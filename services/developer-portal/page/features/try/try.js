import { ask, faultAt } from '../../lib/api.js';
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { lineOf, parseJson } from '../../lib/parse-json.js';
import { useResource } from '../../lib/resources.js';
import { keptKeys, useApp } from '../../lib/session.js';
import { useSubmit } from '../../lib/submit.js';
import { CopyButton } from '../../ui/copy.js';
import { Form, KeyField } from '../../ui/form.js';
import { Card, loaded, PageHead } from '../../ui/page.js';
import { NeedsScope } from '../frame/frame.js';
import { TryAnswer } from './answer.js';
import { buildCheck, newForm } from './build-check.js';
import { checkOfFragment, fragmentOf } from './check-address.js';
import { makeExamples } from './check-examples.js';
import { CheckFields } from './check-fields.js';
import { readCheck } from './read-check.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @import { CheckForm } from './build-check.js' */

/** Browsers refuse to change the address too often. */
const SAVE_AFTER_MS = 400;
const FAULTS_SHOWN_MAX = 20;

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
  const editor = useCheckEditor(() => newForm(String(firstChain ?? '')));
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
          html`<button key=${name} type="button" onClick=${() => editor.open(check)}>${name}</button>`,
      )}
    </div>
    <${Card} class="playground">
      <${Form} form=${form} submit="Run check" label="A check">
        <${KeyField} value=${apiKey} onText=${setApiKey} />
        <div class="panes">
          <${CheckFields} ...${editor} chains=${chains} faults=${faults} knownUrl=${newest.value?.deliveries[0]?.callbackUrl ?? ''} />
          <${TryJson} editor=${editor} faults=${faults} />
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
 * @typedef {{ text: string, parsed: ReturnType<typeof parseJson>, form: CheckForm, isShown: boolean
 *   }} Edited
 */

const textOf = (check) => JSON.stringify(check, null, 2);

/**
 * `form` shows the last JSON that it can represent; `isShown` tells whether that is the current
 * JSON.
 * @param {CheckForm} last
 * @returns {Edited}
 */
function ofText(text, last) {
  const parsed = parseJson(text);
  const form = parsed.fault ? undefined : readCheck(parsed.value);
  return { text, parsed, form: form ?? last, isShown: form !== undefined };
}

/** @param {CheckForm} form @returns {Edited} */
function ofForm(form) {
  const text = textOf(buildCheck(form));
  return { text, parsed: parseJson(text), form, isShown: true };
}

/**
 * A check as a form and as JSON, either of which may be edited: the other one follows. It is kept
 * in the address, so that a reload and a shared link open the same check.
 * @param {() => CheckForm} makeForm the form of a new check
 */
function useCheckEditor(makeForm) {
  const read = () => {
    const check = checkOfFragment(location.hash);
    return check && ofText(textOf(check), makeForm());
  };
  const [state, setState] = useState(/** @returns {Edited} */ () => read() ?? ofForm(makeForm()));
  const { parsed } = state;
  const fragment = parsed.fault ? undefined : fragmentOf(parsed.value);
  useEffect(() => {
    if (fragment === undefined || fragment === location.hash) return undefined;
    const save = () => history.replaceState(null, '', location.pathname + location.search + fragment);
    const timer = setTimeout(save, SAVE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [fragment]);
  useEffect(() => {
    const follow = () => setState((last) => read() ?? last);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return {
    ...state,
    isKept: parsed.fault !== undefined || fragment !== undefined,
    /** @param {CheckForm} form */
    setForm: (form) => setState(ofForm(form)),
    setText: (text) => setState((last) => ofText(text, last.form)),
    open: (check) => setState((last) => ofText(textOf(check), last.form)),
  };
}

/**
 * The check as JSON, to edit, with the faults of the last answer by their lines.
 * @param {{ editor: ReturnType<typeof useCheckEditor>, faults: Record<string, string> }} props
 */
function TryJson({ editor, faults }) {
  const { text, parsed, isShown, isKept, setText } = editor;
  const area = useRef(/** @type {any} */ (null));
  const goTo = (line) => {
    /** @type {HTMLTextAreaElement} */
    const field = area.current;
    const lines = text.split('\n');
    const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
    field.focus();
    field.setSelectionRange(start, start + (lines[line - 1] ?? '').length);
    // Browsers do not scroll to a selection that a script has made.
    field.scrollTop = Math.max(0, (line - 3) * (field.scrollHeight / lines.length));
  };
  /** @type {[line: number, words: string][]} */
  const places = parsed.fault ? [[parsed.fault.line, parsed.fault.text]] : placesOf(faults, parsed.lines);
  const run = ({ key, ctrlKey, metaKey }) => {
    if (key === 'Enter' && (ctrlKey || metaKey)) area.current.form.requestSubmit();
  };
  return html`<div class="try-json">
    <div class="code-head"><label for="try-json">Check as JSON</label><${CopyButton} text=${text} what="JSON" /></div>
    <textarea id="try-json" ref=${area} class="mono" wrap="off" rows="18" spellcheck=${false} autocomplete="off" maxlength="200000"
      value=${text} aria-invalid=${places.length > 0 ? 'true' : undefined} aria-describedby="try-json-faults try-json-hint"
      onInput=${(event) => setText(event.target.value)} onKeyDown=${run}></textarea>
    <ul id="try-json-faults" class="json-faults" aria-live="polite">${places
      .slice(0, FAULTS_SHOWN_MAX)
      .map(
        ([line, words]) =>
          html`<li key=${words}><button type="button" class="plain" onClick=${() => goTo(line)}>Line ${line}</button> <span class="fault">${words}</span></li>`,
      )}</ul>
    <p class="hint" id="try-json-hint">${
      isShown || parsed.fault
        ? 'Form and JSON stay in sync. Ctrl+Enter runs the check.'
        : 'The form cannot show this JSON. It is sent as it is.'
    } ${isKept ? 'This check is kept in the address of the page, without the key.' : 'It is too long or contains a key, so it is not kept in the address of the page.'}</p>
  </div>`;
}

/** In the order of the lines. The key is not part of the check.
 * @param {Map<string, number>} lines */
const placesOf = (faults, lines) =>
  Object.entries(faults)
    .filter(([pointer]) => pointer !== '/apiKey' && pointer !== '/json')
    .map(
      ([pointer, words]) =>
        /** @type {[number, string]} */ ([
          lineOf(lines, pointer),
          words.includes(pointer) ? words : `${pointer}: ${words}`,
        ]),
    )
    .sort(([a], [b]) => a - b);
