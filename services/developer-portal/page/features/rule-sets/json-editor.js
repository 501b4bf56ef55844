import { html, useRef, useState } from '../../lib/html.js';
import { lineOf, parseJson } from '../../lib/parse-json.js';
import { CopyButton } from '../../ui/copy.js';
import { canShow } from './edit-rules.js';

/** @import { Rule } from './edit-rules.js' */
/** @import { Faults } from './rules-fields.js' */

const FAULTS_SHOWN_MAX = 20;

/**
 * `value` is the last one that the form can show; `isShown` tells whether that is the current JSON.
 * @typedef {{ text: string, parsed: ReturnType<typeof parseJson>, value: Rule, isShown: boolean }}
 *   Edited
 */
/** @typedef {Edited & { setText: (text: string) => void, setValue: (value: Rule) => void }} Editor */

/** @param {Rule} last @returns {Edited} */
function ofText(text, last) {
  const parsed = parseJson(text);
  const isShown = !parsed.fault && canShow(parsed.value);
  return { text, parsed, value: isShown ? parsed.value : last, isShown };
}

const ofValue = (/** @type {Rule} */ value) => ofText(JSON.stringify(value, null, 2), value);

/**
 * A check or a rule set as a form and as JSON, either of which may be edited: the other one follows.
 * @param {() => Rule} makeValue the first one
 * @returns {Editor}
 */
export function useJsonEditor(makeValue) {
  const [state, setState] = useState(() => ofValue(makeValue()));
  return {
    ...state,
    setText: (text) => setState((last) => ofText(text, last.value)),
    setValue: (value) => setState(ofValue(value)),
  };
}

/**
 * The JSON, to edit, with the faults of the last answer by their lines.
 * @param {object} props
 * @param {Editor} props.editor
 * @param {Faults} props.faults
 * @param {string} props.label
 * @param {string} props.hint while form and JSON are in sync
 * @param {string} [props.note]
 */
export function JsonPane({ editor: { text, parsed, isShown, setText }, faults, label, hint, note = '' }) {
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
    <div class="code-head"><label for="json">${label}</label><${CopyButton} text=${text} what="JSON" /></div>
    <textarea id="json" ref=${area} class="mono" wrap="off" rows="18" spellcheck=${false} autocomplete="off" maxlength="200000"
      value=${text} aria-invalid=${places.length > 0 ? 'true' : undefined} aria-describedby="json-faults json-hint"
      onInput=${(event) => setText(event.target.value)} onKeyDown=${run}></textarea>
    <ul id="json-faults" class="json-faults" aria-live="polite">${places
      .slice(0, FAULTS_SHOWN_MAX)
      .map(
        ([line, words]) =>
          html`<li key=${words}><button type="button" class="plain" onClick=${() => goTo(line)}>Line ${line}</button> <span class="fault">${words}</span></li>`,
      )}</ul>
    <p class="hint" id="json-hint">${isShown || parsed.fault ? hint : 'The form cannot show this JSON. It is sent as it is.'} ${note}</p>
  </div>`;
}

/** In the order of the lines. Faults of other fields of the form are beside these.
 * @param {Map<string, number>} lines */
const placesOf = (faults, lines) =>
  Object.entries(faults)
    .filter(([pointer]) => !['/apiKey', '/json', '/id'].includes(pointer))
    .map(
      ([pointer, words]) =>
        /** @type {[number, string]} */ ([
          lineOf(lines, pointer),
          words.includes(pointer) ? words : `${pointer}: ${words}`,
        ]),
    )
    .sort(([a], [b]) => a - b);
