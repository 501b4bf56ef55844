import { html, useRef, useState } from '../../lib/html.ts';
import { lineOf, parseJson } from '../../lib/parse-json.ts';
import { CopyButton } from '../../ui/copy.ts';
import { useFaults } from '../../ui/form.ts';
import { canShow, type Rule } from './edit-rules.ts';

const FAULTS_SHOWN_MAX = 20;
/** Fields of the form around that are no members of the JSON. */
const OTHER_FIELDS = ['/apiKey', '/json', '/id'];

/** `value` is the last one that the form can show; `isShown` tells whether that is the current JSON. */
function ofText(text: string, last: Rule) {
  const parsed = parseJson(text);
  const isShown = !parsed.fault && canShow(parsed.value);
  return { text, parsed, value: isShown ? (parsed.value as Rule) : last, isShown };
}

const ofValue = (value: Rule) => ofText(JSON.stringify(value, null, 2), value);

/** A check or a rule set as a form and as JSON, either of which may be edited: the other one follows. */
export function useJsonEditor(makeFirst: () => Rule) {
  const [state, setState] = useState(() => ofValue(makeFirst()));
  return {
    ...state,
    setText: (text: string) => setState((last) => ofText(text, last.value)),
    setValue: (value: Rule) => setState(ofValue(value)),
  };
}
export type JsonEditor = ReturnType<typeof useJsonEditor>;

/** Both side by side: the fields of `what`, which rest while they cannot show the JSON, and the JSON
 * with the faults of the form around by their lines. `hint` is shown while they are in sync. */
export function EditorPanes({ editor, what, hint = 'Form and JSON stay in sync.', note = '', children }) {
  const { text, parsed, isShown, setText }: JsonEditor = editor;
  const area = useRef<HTMLTextAreaElement>(null);
  const places = placesOf(parsed, useFaults());
  const goTo = (line: number) => {
    const field = area.current;
    const lines = text.split('\n');
    const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
    field.focus();
    field.setSelectionRange(start, start + (lines[line - 1] ?? '').length);
    // Browsers do not scroll to a selection that a script has made.
    field.scrollTop = Math.max(0, (line - 3) * (field.scrollHeight / lines.length));
  };
  const run = ({ key, ctrlKey, metaKey }) => {
    if (key === 'Enter' && (ctrlKey || metaKey)) area.current.form?.requestSubmit();
  };
  const drawPlace = ({ line, words }) => html`<li key=${words}>
    <button type="button" class="plain" onClick=${() => goTo(line)}>Line ${line}</button> <span class="fault">${words}</span>
  </li>`;
  return html`<div class="panes">
    <fieldset class="try-builder" disabled=${!isShown}>
      <legend class="visually-hidden">${what} as a form</legend>${children}
    </fieldset>
    <div class="try-json">
      <div class="code-head"><label for="json">${what} as JSON</label><${CopyButton} text=${text} what="JSON" /></div>
      <textarea id="json" ref=${area} class="mono" wrap="off" rows="18" spellcheck=${false} autocomplete="off" maxlength="200000"
        value=${text} aria-invalid=${places.length > 0 ? 'true' : undefined} aria-describedby="json-faults json-hint"
        onInput=${(event) => setText(event.target.value)} onKeyDown=${run}></textarea>
      <ul id="json-faults" class="json-faults" aria-live="polite">${places.slice(0, FAULTS_SHOWN_MAX).map(drawPlace)}</ul>
      <p class="hint" id="json-hint">${isShown || parsed.fault ? hint : 'The form cannot show this JSON. It is sent as it is.'} ${note}</p>
    </div>
  </div>`;
}

/** Where the JSON is faulty, in the order of the lines. */
function placesOf({ fault, lines }: JsonEditor['parsed'], faults: Record<string, string>) {
  if (fault) return [{ line: fault.line, words: fault.text }];
  const places = Object.entries(faults).map(([pointer, words]) => ({
    pointer,
    line: lineOf(lines, pointer),
    words: words.includes(pointer) ? words : `${pointer}: ${words}`,
  }));
  return places.filter(({ pointer }) => !OTHER_FIELDS.includes(pointer)).sort((a, b) => a.line - b.line);
}
