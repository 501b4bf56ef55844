import { formatCount, formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { Checkbox, Field } from '../../ui/field.js';
import { Segments } from '../../ui/segments.js';
import { decodeText } from './read-entries.js';

/** The largest file: the API's limit for NDJSON. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;
/** Lines of a kind that are listed. */
const LISTED_MAX = 20;
/** Entries that are shown before they are sent. */
const PREVIEWED_MAX = 5;
/** Of a column's first value. */
const SAMPLE_CHARS_MAX = 12;
const NONE = 'none';

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
            hint="One per line. Your own id for the member may stand beside it, after a comma." />`
        : html`<${Field} label="CSV or text file" type="file" name="entries" required accept=".csv,.txt,.tsv,text/csv,text/plain"
            onChange=${read} fault=${fileFault || fault}
            hint="One wallet per line. Any column may have the address, and another one your own id for the member." />`
    }
  `;
}

/** Which columns have the address and the caller's own id, where a list has several: found, or to be chosen. */
export function ColumnsField({ table, found, onChoose, faults }) {
  const { account, ref } = found;
  if (table.columns.length < 2) return null;
  const choose = (name) => (event) => {
    const { value } = event.target;
    onChoose((chosen) => ({ ...chosen, [name]: value === NONE ? null : Number(value) }));
  };
  const optionsOf = (columns, chosen) =>
    columns.map(
      (column) =>
        html`<option key=${column.index} value=${column.index} selected=${column.index === chosen}>${titleOf(column)}</option>`,
    );
  return html`<div class="two">
    <${Field} label="Column of the address" name="accountColumn" as="select" required data-missing="Choose the column of the address."
      fault=${account === undefined && faults['/accountColumn']} onChange=${choose('account')}
      hint=${account === undefined ? 'Several columns have addresses.' : ''}>
      ${account === undefined && html`<option value="" selected>Choose…</option>`}
      ${optionsOf(table.columns, account)}
    <//>
    <${Field} label="Column of your own id" name="refColumn" as="select" required data-missing="Choose a column, or none."
      fault=${ref === undefined && faults['/refColumn']} onChange=${choose('ref')} hint="The results show it beside the address.">
      ${ref === undefined && html`<option value="" selected>Choose…</option>`}
      <option value=${NONE} selected=${ref === null}>None</option>
      ${optionsOf(
        table.columns.filter(({ index }) => index !== account),
        ref,
      )}
    <//>
  </div>`;
}

/** A column by its name or number, with its first value. */
const titleOf = ({ index, name, sample }) =>
  `${name || `Column ${index + 1}`}${sample && ` (${sample.length > SAMPLE_CHARS_MAX ? `${sample.slice(0, SAMPLE_CHARS_MAX)}…` : sample})`}`;

/** The first entries, as they will be sent. */
export function EntriesPreview({ entries, hasIds }) {
  if (entries.length === 0) return null;
  const lines = entries.map(({ line, account, ref: id }) => ({
    line,
    words: id ? `${account}, ${id}` : account,
  }));
  return html`<div class="notice" role="region" aria-label="Will be sent">
    <p>Will be sent${hasIds ? ', each address with your own id' : ''}:</p>
    <${Lines} lines=${lines} listedMax=${PREVIEWED_MAX} />
  </div>`;
}

/** Counts of the list before it is sent: entries, invalid and repeated lines. */
export function EntriesFound({ found, header, leave, onLeave }) {
  const { entries, invalid, repeated } = found;
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
export const Lines = ({ lines, listedMax = LISTED_MAX }) => html`<ul class="lines">
  ${lines.slice(0, listedMax).map(({ line, words }) => html`<li key=${`${line} ${words}`}>Line ${line}: ${words}</li>`)}
  ${lines.length > listedMax && html`<li>and ${formatCount(lines.length - listedMax)} more</li>`}
</ul>`;
