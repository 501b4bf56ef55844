import { formatPlural } from '../core/format.js';
import { html, useState } from '../core/html.js';
import { decodeText } from '../core/read-entries.js';
import { Checkbox, Field } from '../parts/field.js';
import { Segments } from '../parts/segments.js';

/** The largest file: the API's limit for NDJSON. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;
/** Lines of a kind that are listed. */
const LISTED_MAX = 20;

const SOURCES = [
  ['paste', 'Paste a list'],
  ['file', 'Choose a file'],
];

/** Where the wallets come from: a text that is pasted, or a file. `onText` gets the text. */
export function EntriesField({ text, onText, fault }) {
  const [source, setSource] = useState('paste');
  const [fileFault, setFileFault] = useState('');
  const choose = (next) => {
    setSource(next);
    setFileFault('');
    onText('');
  };
  const read = async ({ target: { files } }) => {
    const [file] = files;
    const isTooLarge = file?.size > FILE_BYTES_MAX;
    setFileFault(isTooLarge ? 'The file is larger than 16 MiB.' : '');
    onText(!file || isTooLarge ? '' : decodeText(await file.arrayBuffer()));
  };
  return html`
    <${Segments} label="Where the wallets come from" options=${SOURCES} value=${source} onChange=${choose} />
    ${
      source === 'paste'
        ? html`<${Field} label="Addresses" as="textarea" name="entries" required rows="8" class="mono-input" value=${text}
            placeholder="0x…" spellcheck=${false} fault=${fault} onInput=${(event) => onText(event.target.value)}
            hint="One per line; after a comma, optionally your own id for the member." />`
        : html`<${Field} label="CSV or text file" type="file" name="entries" required accept=".csv,.txt,.tsv,text/csv,text/plain"
            onChange=${read} fault=${fileFault || fault}
            hint="First column: the address. Second column, optional: your own id for the member." />`
    }
  `;
}

/** Counts of the list before it is sent: entries, invalid and repeated lines. */
export function EntriesFound({ found, leave, onLeave }) {
  const { entries, invalid, repeated, header } = found;
  if (entries.length + invalid.length === 0) return null;
  return html`<div class="stack" role="status">
    ${header !== undefined && html`<p class="sub break">Skipped as a header: <code>${header.slice(0, 80)}</code></p>`}
    ${
      invalid.length > 0 &&
      html`<div class="notice bad">
        <p>${formatPlural(invalid.length, 'line is', 'lines are')} not valid:</p>
        <${Lines} lines=${invalid.map(({ line, reason, text }) => ({ line, words: `${reason}: ${text.slice(0, 60)}` }))} />
      </div>
      <${Checkbox} label=${`Send without ${invalid.length === 1 ? 'this line' : 'these lines'}`} name="leaveInvalid" checked=${leave.invalid}
        onChange=${(event) => onLeave({ ...leave, invalid: event.target.checked })} />`
    }
    ${
      repeated.length > 0 &&
      html`<div class="notice warn">
        <p>${formatPlural(repeated.length, 'line repeats', 'lines repeat')} the address and id of an earlier one:</p>
        <${Lines} lines=${repeated.map(({ line, of }) => ({ line, words: `repeats line ${of}` }))} />
      </div>
      <${Checkbox} label="Send each of them once" name="leaveRepeated" checked=${leave.repeated}
        onChange=${(event) => onLeave({ ...leave, repeated: event.target.checked })} />`
    }
  </div>`;
}

/** Lines of the list by their numbers, the first of them. */
export const Lines = ({ lines }) => html`<ul class="lines">
  ${lines.slice(0, LISTED_MAX).map(({ line, words }) => html`<li key=${`${line} ${words}`}>Line ${line}: ${words}</li>`)}
  ${lines.length > LISTED_MAX && html`<li>and ${formatPlural(lines.length - LISTED_MAX, 'more', 'more')}</li>`}
</ul>`;
