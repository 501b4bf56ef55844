import { type Answer, ApiError, ask, faultAt } from '../../lib/api.ts';
import { formatCount, formatPlural } from '../../lib/format.ts';
import { html, useEffect, useMemo, useState } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { navigate, useQuery } from '../../lib/router.ts';
import { useApp } from '../../lib/session.ts';
import { useSubmit } from '../../lib/submit.ts';
import { Checkbox, Field, Form, KeyField, Segments } from '../../ui/form.ts';
import { Card, Crumb, loaded, PageHead } from '../../ui/page.ts';
import { NeedsScope } from '../frame/frame.ts';
import { NEW } from '../frame/path-parts.ts';
import { type Choice, decodeText, type Entry, type Found, readEntries, writeBatch } from './read-entries.ts';
import { type NamedColumn, readTable } from './read-table.ts';

type BatchOptions = Answer<'GET /api/apps/:clientId/batch-options'>;

/** The body may take two minutes, and the broker has its time after that. */
const START_MS_MAX = 160_000;
/** The largest file: the API's limit for NDJSON. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;
/** Lines of a kind that are listed. */
const LISTED_MAX = 20;
/** Entries that are shown before they are sent. */
const PREVIEWED_MAX = 5;
const SAMPLE_CHARS_MAX = 12;
const NONE = 'none';
const SOURCES = Object.entries({ paste: 'Paste a list', file: 'Choose a file' });

export function StartBatch() {
  const { clientId, base } = useApp();
  const limits = useResource('GET /api/apps/:clientId/batch-options', { clientId });
  const ruleSets = useResource('GET /api/apps/:clientId/rule-sets', { clientId });
  return html`
    <${Crumb} base=${base} section="batches" name="Batches" />
    <${PageHead} title="Start a batch"><p class="sub">Every entry counts as one check against the month's quota. The key goes to
      the gateway and is not kept.</p><//>
    <${NeedsScope}>Without the approved scope the answer is 403.<//>
    ${loaded(ruleSets, (page) => {
      const ids = page.ruleSets.map(({ ruleSetId }) => ruleSetId);
      const hasMore = page.next !== undefined;
      return loaded(
        limits,
        (value) => html`<${Card}><${BatchForm} ...${value} ids=${ids} hasMore=${hasMore} /><//>`,
      );
    })}
  `;
}

function BatchForm({ limits, month, ids, hasMore }) {
  const { clientId, base } = useApp();
  const [{ ruleSet: asked }] = useQuery({ ruleSet: '' });
  const [text, setText] = useState('');
  const [leave, setLeave] = useState({ invalid: false, repeated: true });
  const [choice, setChoice] = useState<Choice>({});
  const table = useMemo(() => readTable(text), [text]);
  const found = useMemo(() => readEntries(table, choice), [table, choice]);
  // Columns that were chosen in one list are not those of another.
  useEffect(() => setChoice({}), [table.columns.length, table.header]);
  const entries = useMemo(
    () => found.entries.filter(({ isRepeated }) => !(isRepeated && leave.repeated)),
    [found, leave],
  );
  const send = async ({ ruleSet, callbackUrl, explain, apiKey }, idempotencyKey) => {
    const fault = unreadinessOf(found, entries, leave, limits);
    if (fault) throw faultAt('/entries', fault);
    const url = callbackUrl.trim();
    const head = {
      ruleSet: ruleSet.trim(),
      ...(url && { callbackUrl: url }),
      ...(explain && { explain: true }),
    };
    const answer = await ask('POST /api/apps/:clientId/batches', {
      params: { clientId },
      body: new Blob([writeBatch(head, entries)], { type: 'application/x-ndjson' }),
      idempotencyKey,
      apiKey: apiKey.trim(),
      timeoutMs: START_MS_MAX,
    });
    if (answer.status !== 202) throw new ApiError(answer.status, answer.body);
    return answer.body as { requestId: string };
  };
  const form = useSubmit(send, ({ requestId }) =>
    navigate(`${base}/batches/${encodeURIComponent(requestId)}`),
  );
  const refused = linesOf(form.error?.errors ?? [], entries);
  return html`<${Form} form=${form} submit="Start batch" label="A batch">
    <div class="two"><${RuleSetField} ids=${ids} hasMore=${hasMore} asked=${asked} /><${KeyField} /></div>
    <${EntriesField} text=${text} onText=${setText} />
    <${ColumnsField} columns=${table.columns} found=${found} onChoose=${setChoice} />
    <${EntriesFound} found=${found} header=${table.header} leave=${leave} onLeave=${setLeave} />
    <${EntriesPreview} entries=${entries} hasIds=${typeof found.ref === 'number'} />
    ${refused.length > 0 && html`<div class="notice bad" role="alert" tabindex="-1"><p>The gateway refuses the batch:</p><${Lines} lines=${refused} /></div>`}
    <${Cost} count=${entries.length} limits=${limits} month=${month} />
    <${Field} label="Callback URL" name="callbackUrl" type="url" maxlength="2048" placeholder="https://…"
      hint="Gets one signed message when the last entry is done." />
    <${Checkbox} label="Say why in each line of the results" name="explain" defaultChecked=${true} />
  <//>`;
}

/** A choice among the rule sets; where there are more than one page of them, their ids are
 * typed. */
function RuleSetField({ ids, hasMore, asked }) {
  const { base } = useApp();
  const shared = { label: 'Rule set', name: 'ruleSet', required: true };
  if (hasMore)
    return html`<${Field} ...${shared} class="mono-input" maxlength="64" defaultValue=${asked} hint="The id of a rule set of this app." />`;
  const [none, missing] =
    ids.length === 0 ? ['No rule sets yet', 'Make a rule set first.'] : ['Choose…', 'Choose a rule set.'];
  return html`<${Field} ...${shared} choices=${[['', none], ...ids]} chosen=${asked} data-missing=${missing}
    hint=${html`<a href=${`${base}/rule-sets/${NEW}`}>New rule set</a>`} />`;
}

function Cost({ count, limits, month: { used, quota } }) {
  const left = Math.max(0, quota - used);
  const isTooMuch = count > left || count > limits.entries;
  return html`<p class=${isTooMuch ? 'notice warn' : 'notice'}>
    <strong>${formatPlural(count, 'entry', 'entries')}</strong> of at most ${formatCount(limits.entries)}.
    ${' '}${count === 1 ? 'It costs' : 'They cost'} ${formatPlural(count, 'check')} of the month's quota; ${formatCount(left)} of ${formatCount(quota)} are left.</p>`;
}

/** Why the list cannot be sent yet; undefined if it can. */
function unreadinessOf({ invalid }: Found, entries: Entry[], leave, limits: BatchOptions['limits']) {
  const it = invalid.length === 1 ? 'it' : 'them';
  if (invalid.length > 0 && !leave.invalid)
    return `${formatPlural(invalid.length, 'line is', 'lines are')} not valid: correct ${it}, or send without ${it}.`;
  if (entries.length === 0) return 'List at least one address.';
  if (entries.length > limits.entries)
    return `At most ${formatPlural(limits.entries, 'entry', 'entries')} in this tier: send several batches.`;
  return undefined;
}

const linesOf = (errors: ApiError['errors'], entries: Entry[]) =>
  errors.flatMap(({ pointer, detail }) => {
    const line = entries[Number(/^\/entries\/(\d+)/.exec(pointer)?.[1])]?.line;
    return line === undefined ? [] : [{ line, words: detail }];
  });

/** Where the wallets come from: a text that is pasted, or a file. `onText` gets the text. */
function EntriesField({ text, onText }) {
  const [source, setSource] = useState('paste');
  const [fileFault, setFileFault] = useState<string>();
  const choose = (next) => {
    setSource(next);
    setFileFault(undefined);
    onText('');
  };
  const read = async ({ target: { files } }) => {
    const [file] = files;
    const isTooLarge = file !== undefined && file.size > FILE_BYTES_MAX;
    setFileFault(isTooLarge ? 'The file is larger than 16 MiB.' : undefined);
    onText(!file || isTooLarge ? '' : decodeText(await file.arrayBuffer()));
  };
  return html`
    <${Segments} label="Where the wallets come from" options=${SOURCES} value=${source} onChange=${choose} />
    ${
      source === 'paste'
        ? html`<${Field} label="Addresses" as="textarea" name="entries" required rows="8" class="mono-input" value=${text}
            placeholder="0x…" spellcheck=${false} onInput=${(event) => onText(event.target.value)}
            hint="One per line. Your own id for the member may stand beside it, after a comma." />`
        : html`<${Field} label="CSV or text file" type="file" name="entries" required accept=".csv,.txt,.tsv,text/csv,text/plain"
            onChange=${read} fault=${fileFault}
            hint="One wallet per line. Any column may have the address, and another one your own id for the member." />`
    }
  `;
}

/** Which columns have the address and the caller's own id, where a list has several: found, or to
 * be chosen. */
function ColumnsField({ columns, found: { account, ref }, onChoose }) {
  if (columns.length < 2) return null;
  const choose = (name: keyof Choice) => (event) => {
    const { value } = event.target;
    onChoose((chosen) => ({ ...chosen, [name]: value === NONE ? null : Number(value) }));
  };
  const unchosen = ['', 'Choose…'];
  const pairsOf = (offered: NamedColumn[]) => offered.map((column) => [column.index, titleOf(column)]);
  const accounts = [...(account === undefined ? [unchosen] : []), ...pairsOf(columns)];
  const others = columns.filter(({ index }) => index !== account);
  const ids = [...(ref === undefined ? [unchosen] : []), [NONE, 'None'], ...pairsOf(others)];
  return html`<div class="two">
    <${Field} label="Column of the address" name="accountColumn" choices=${accounts} chosen=${String(account ?? '')} required data-missing="Choose the column of the address."
      fault=${account === undefined ? undefined : false} onChange=${choose('account')} hint=${account === undefined ? 'Several columns have addresses.' : ''} />
    <${Field} label="Column of your own id" name="refColumn" choices=${ids} chosen=${String(ref === null ? NONE : (ref ?? ''))} required data-missing="Choose a column, or none."
      fault=${ref === undefined ? undefined : false} onChange=${choose('ref')} hint="The results show it beside the address." />
  </div>`;
}

/** A column by its name or number, with its first value. */
function titleOf({ index, name, sample }: NamedColumn) {
  const start = sample.length > SAMPLE_CHARS_MAX ? `${sample.slice(0, SAMPLE_CHARS_MAX)}…` : sample;
  return `${name || `Column ${index + 1}`}${start && ` (${start})`}`;
}

function EntriesPreview({ entries, hasIds }) {
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

/** The invalid and the repeated lines of the list before it is sent, each to be left out or not. */
function EntriesFound({ found: { entries, invalid, repeated }, header, leave, onLeave }) {
  if (entries.length + invalid.length === 0) return null;
  const leaveBox = (kind: 'invalid' | 'repeated', label) =>
    html`<${Checkbox} label=${label} name=${`leave-${kind}`} checked=${leave[kind]}
      onChange=${({ target }) => onLeave({ ...leave, [kind]: target.checked })} />`;
  return html`<div class="stack" role="status">
    ${header !== undefined && html`<p class="sub break">Skipped as a header: <code>${header.slice(0, 80)}</code></p>`}
    ${
      invalid.length > 0 &&
      html`<div class="notice bad">
        <p>${formatPlural(invalid.length, 'line is', 'lines are')} not valid:</p>
        <${Lines} lines=${invalid.map(({ line, reason, text }) => ({ line, words: `${reason}: ${text.slice(0, 60)}` }))} />
      </div>
      ${leaveBox('invalid', `Send without ${invalid.length === 1 ? 'this line' : 'these lines'}`)}`
    }
    ${
      repeated.length > 0 &&
      html`<div class="notice warn">
        <p>${formatPlural(repeated.length, 'line repeats', 'lines repeat')} the address and id of an earlier one:</p>
        <${Lines} lines=${repeated.map(({ line, of }) => ({ line, words: `repeats line ${of}` }))} />
      </div>
      ${leaveBox('repeated', 'Send each of them once')}`
    }
  </div>`;
}

const Lines = ({ lines, listedMax = LISTED_MAX }) => html`<ul class="lines">
  ${lines.slice(0, listedMax).map(({ line, words }) => html`<li key=${`${line} ${words}`}>Line ${line}: ${words}</li>`)}
  ${lines.length > listedMax && html`<li>and ${formatCount(lines.length - listedMax)} more</li>`}
</ul>`;
