import { ApiError, ask } from '../../lib/api.js';
import { formatCount, formatPlural } from '../../lib/format.js';
import { html, useEffect, useMemo, useState } from '../../lib/html.js';
import { keptKey } from '../../lib/kept-keys.js';
import { navigate, useQuery } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Field } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { Card, Loaded } from '../../ui/states.js';
import { ColumnsField, EntriesField, EntriesFound, EntriesPreview, Lines } from './entries-field.js';
import { readEntries, writeBatch } from './read-entries.js';
import { readTable } from './read-table.js';

/** The body may take two minutes, and the broker has its time after that. */
const START_MS_MAX = 160_000;

/** Sends a list of wallets as a batch, with the app's own key. */
export function StartBatch() {
  const { api, app, base } = useApp();
  const options = useResource(`${api}/batch-options`);
  const ruleSets = useResource(`${api}/rule-sets`);
  return html`
    <p class="crumbs"><a href=${`${base}/batches`}>← Batches</a></p>
    <${PageHead} title="Start a batch"><p class="sub">Every entry counts as one check against the month's quota. The key goes to
      the gateway and is not kept.</p><//>
    ${
      app.scope.state !== 'approved' &&
      html`<p class="notice warn">Without the approved scope the answer is 403. <a href=${`${base}/scope`}>Request the scope</a></p>`
    }
    <${Loaded} resource=${ruleSets}>${(page) =>
      html`<${Loaded} resource=${options}>${(value) => html`
      <${Card}><${BatchForm} ...${value} ids=${page.ruleSets.map(({ ruleSetId }) => ruleSetId)} hasMore=${page.next !== undefined} /><//>
    `}<//>`}<//>
  `;
}

function BatchForm({ limits, month, ids, hasMore }) {
  const { app, api, base } = useApp();
  const [{ ruleSet: asked }] = useQuery({ ruleSet: '' });
  const [apiKey, setApiKey] = useState(() => keptKey(app.clientId));
  const [text, setText] = useState('');
  const [leave, setLeave] = useState({ invalid: false, repeated: true });
  const [choice, setChoice] = useState({});
  const table = useMemo(() => readTable(text), [text]);
  const found = useMemo(() => readEntries(table, choice), [table, choice]);
  // Columns that were chosen in one list are not those of another.
  useEffect(() => setChoice({}), [table.columns.length, table.header]);
  const entries = useMemo(
    () => found.entries.filter(({ isRepeated }) => !(isRepeated && leave.repeated)),
    [found, leave],
  );
  const send = async ({ ruleSet, callbackUrl }, idempotencyKey) => {
    refuseUnready(found, entries, leave, limits);
    const url = callbackUrl.trim();
    const head = { ruleSet: ruleSet.trim(), ...(url && { callbackUrl: url }) };
    const body = new Blob([writeBatch(head, entries)], { type: 'application/x-ndjson' });
    const sending = { body, idempotencyKey, apiKey: apiKey.trim(), timeoutMs: START_MS_MAX };
    return acceptedOf(await ask('POST', `${api}/batches`, sending));
  };
  const form = useSubmit(send, ({ requestId }) =>
    navigate(`${base}/batches/${encodeURIComponent(requestId)}`),
  );
  const { faults } = form;
  const refused = linesOf(form.error?.errors ?? [], entries);
  return html`<${Form} form=${form} submit="Start batch" label="A batch">
    <div class="two">
      <${RuleSetField} ids=${ids} hasMore=${hasMore} asked=${asked} fault=${faults['/ruleSet']} />
      <${Field} label="API key" name="apiKey" required maxlength="100" class="mono-input" value=${apiKey} placeholder="rck_live_…"
        onInput=${(event) => setApiKey(event.target.value)} fault=${faults['/apiKey']}
        hint=${keptKey(app.clientId) === '' ? 'Paste a key of this app.' : 'The key that you have just made.'} />
    </div>
    <${EntriesField} text=${text} onText=${setText} fault=${faults['/entries']} />
    <${ColumnsField} table=${table} found=${found} onChoose=${setChoice} faults=${faults} />
    <${EntriesFound} found=${found} header=${table.header} leave=${leave} onLeave=${setLeave} />
    <${EntriesPreview} entries=${entries} hasIds=${typeof found.ref === 'number'} />
    ${refused.length > 0 && html`<div class="notice bad" role="alert" tabindex="-1"><p>The gateway refuses the batch:</p><${Lines} lines=${refused} /></div>`}
    <${Cost} count=${entries.length} limits=${limits} month=${month} />
    <${Field} label="Callback URL" name="callbackUrl" type="url" maxlength="2048" placeholder="https://…" fault=${faults['/callbackUrl']}
      hint="Gets one signed message when the last entry is done." />
  <//>`;
}

/** A choice among the rule sets; where there are more than one page of them, their ids are typed. */
function RuleSetField({ ids, hasMore, asked, fault }) {
  const { base } = useApp();
  const shared = { label: 'Rule set', name: 'ruleSet', required: true, fault };
  if (hasMore)
    return html`<${Field} ...${shared} class="mono-input" maxlength="64" defaultValue=${asked} hint="The id of a rule set of this app." />`;
  return html`<${Field} ...${shared} as="select" data-missing=${ids.length === 0 ? 'Make a rule set first.' : 'Choose a rule set.'}
    hint=${html`<a href=${`${base}/rule-sets/-new`}>New rule set</a>`}>
    <option value="">${ids.length === 0 ? 'No rule sets yet' : 'Choose…'}</option>
    ${ids.map((id) => html`<option key=${id} value=${id} selected=${id === asked}>${id}</option>`)}
  <//>`;
}

function Cost({ count, limits, month: { used, quota } }) {
  const left = Math.max(0, quota - used);
  const isTooMuch = count > left || count > limits.entries;
  return html`<p class=${isTooMuch ? 'notice warn' : 'notice'}>
    <strong>${formatPlural(count, 'entry', 'entries')}</strong> of at most ${formatCount(limits.entries)}.
    ${' '}${count === 1 ? 'It costs' : 'They cost'} ${formatPlural(count, 'check')} of the month's quota; ${formatCount(left)} of ${formatCount(quota)} are left.</p>`;
}

/** @throws a fault of the field while the list cannot be sent */
function refuseUnready({ invalid }, entries, leave, limits) {
  const count = invalid.length;
  const fault =
    count > 0 && !leave.invalid
      ? `${formatPlural(count, 'line is', 'lines are')} not valid: correct ${count === 1 ? 'it' : 'them'}, or send without ${count === 1 ? 'it' : 'them'}.`
      : entries.length === 0
        ? 'List at least one address.'
        : entries.length > limits.entries
          ? `At most ${formatPlural(limits.entries, 'entry', 'entries')} in this tier: send several batches.`
          : undefined;
  if (fault) throw Object.assign(new Error(''), { status: 422, faults: { '/entries': fault } });
}

/** The gateway's acceptance. @throws ApiError with its problem if it refuses */
function acceptedOf({ status, body }) {
  if (status === 202) return body;
  const error = new ApiError({
    status,
    code: String(body?.code ?? 'internal'),
    detail: String(body?.detail ?? 'The gateway could not answer. Please try again.'),
    errors: Array.isArray(body?.errors) ? body.errors : [],
  });
  throw error;
}

/** The faults of entries, by line. */
const linesOf = (errors, entries) =>
  errors.flatMap(({ pointer, detail }) => {
    const place = /^\/entries\/(\d+)/.exec(pointer)?.[1];
    const line = entries[Number(place)]?.line;
    return place === undefined || line === undefined ? [] : [{ line, words: detail }];
  });
