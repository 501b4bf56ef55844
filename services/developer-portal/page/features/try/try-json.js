import { html, useRef } from '../../lib/html.js';
import { lineOf } from '../../lib/parse-json.js';
import { CopyButton } from '../../ui/copy.js';

const FAULTS_SHOWN_MAX = 20;

/**
 * The check as JSON, to edit, with the faults of the last answer by their lines.
 *
 * @param editor of `useCheckEditor`
 * @param faults texts by JSON pointer
 */
export function TryJson({ editor, faults }) {
  const { text, parsed, isShown, isKept, setText } = editor;
  const area = useRef(null);
  const goTo = (line) => {
    const start = startOf(text, line);
    const end = text.indexOf('\n', start);
    area.current.focus();
    area.current.setSelectionRange(start, end === -1 ? text.length : end);
    // Browsers do not scroll to a selection that a script has made.
    const lineHeight = area.current.scrollHeight / text.split('\n').length;
    area.current.scrollTop = Math.max(0, (line - 3) * lineHeight);
  };
  const places = parsed.fault ? [[parsed.fault.line, parsed.fault.text]] : placesOf(faults, parsed.lines);
  const run = (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form.requestSubmit();
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

function startOf(text, line) {
  let start = 0;
  for (let left = line - 1; left > 0; left--) start = text.indexOf('\n', start) + 1;
  return start;
}

/** In the order of the lines. The key is not part of the check. */
const placesOf = (faults, lines) =>
  Object.entries(faults)
    .filter(([pointer]) => pointer !== '/apiKey' && pointer !== '/json')
    .map(([pointer, words]) => [
      lineOf(lines, pointer),
      words.includes(pointer) ? words : `${pointer}: ${words}`,
    ])
    .sort(([a], [b]) => a - b);
