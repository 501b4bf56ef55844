import { ApiError, ask, faultAt } from '../../lib/api.js';
import { formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { keptKeys, useApp } from '../../lib/session.js';
import { useSubmit } from '../../lib/submit.js';
import { Field, Form, KeyField, options } from '../../ui/form.js';
import { Card, loaded } from '../../ui/page.js';
import { Progress } from '../batches/batches.js';
import { Changes, Entries } from '../batches/entries.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/watches'>['watches'][number]} Watch */
/** @import { Editor } from './json-editor.js' */
/** @typedef {{ requestId: string, rules: readonly any[] }} Started */

/** The gateway reads all members of the watch before it answers. */
const START_MS_MAX = 130_000;

/**
 * Who of the watches of a rule set would gain or lose a role by the rules that are being written.
 * Nothing where no watch uses the rule set.
 * @param {{ ruleSetId: string, editor: Editor }} props
 */
export function Preview({ ruleSetId, editor }) {
  const { clientId } = useApp();
  const { value } = useResource('GET /api/apps/:clientId/watches', { clientId });
  const watches = (value?.watches ?? []).filter(
    ({ ruleSet, members }) => ruleSet === ruleSetId && members > 0,
  );
  if (watches.length === 0) return null;
  return html`<${PreviewForm} watches=${watches} editor=${editor} />`;
}

/** @param {{ watches: Watch[], editor: Editor }} props */
function PreviewForm({ watches, editor: { parsed } }) {
  const { clientId } = useApp();
  const [apiKey, setApiKey] = useState(keptKeys.get(clientId) ?? '');
  const [watchId, setWatchId] = useState(watches[0]?.watchId ?? '');
  const [started, setStarted] = useState(/** @type {Started | undefined} */ (undefined));
  const members = watches.find((watch) => watch.watchId === watchId)?.members ?? 0;
  const send = async (_, idempotencyKey) => {
    if (parsed.fault) throw faultAt('/rules', `The rules above are not JSON. ${parsed.fault.text}`);
    const { rules, onUndetermined = 'omit' } = parsed.value ?? {};
    const check = { watch: watchId, rules, onUndetermined, explain: true };
    const answer = await ask('POST /api/apps/:clientId/try', {
      params: { clientId },
      body: { apiKey: apiKey.trim(), check, isBatch: true },
      idempotencyKey,
      timeoutMs: START_MS_MAX,
    });
    if (answer.status !== 202) throw new ApiError(answer.status, answer.body);
    const { requestId } = /** @type {{ requestId: string }} */ (answer.body);
    return { requestId, rules: /** @type {any[]} */ (rules) };
  };
  const form = useSubmit(send, setStarted);
  const ofRules = Object.entries(form.faults).filter(([pointer]) => pointer.startsWith('/rules'));
  return html`<${Card} title="Who would gain, who would lose">
    <p class="prose">${watches.length === 1 ? html`The watch <strong class="break">${watchId}</strong> uses` : `${watches.length} watches use`} this
      rule set. See what the rules above would change for its members before you store them: nothing is sent, and no member changes.</p>
    <${Form} form=${form} submit="Show the changes" label="Preview">
      ${
        watches.length > 1 &&
        html`<${Field} label="Watch" name="watch" as="select" value=${watchId} onChange=${(event) => setWatchId(event.target.value)}>
          ${options(watches.map((watch) => /** @type {const} */ ([watch.watchId, watch.watchId])))}
        <//>`
      }
      <${KeyField} value=${apiKey} onText=${setApiKey} />
      ${ofRules.length > 0 && html`<p class="fault" role="alert" tabindex="-1">${ofRules.map(([, detail]) => detail).join(' ')}</p>`}
      <p class="notice">It costs ${formatPlural(members, 'check')} of the month's quota, one for each member.</p>
    <//>
    ${started && html`<${PreviewOutcome} key=${started.requestId} ...${started} />`}
  <//>`;
}

/** The changes as soon as all members were checked. @param {Started} props */
function PreviewOutcome({ requestId, rules }) {
  const { clientId, base } = useApp();
  const params = { clientId, requestId };
  const call = 'GET /api/apps/:clientId/batches/:requestId';
  const batch = useResource(call, params, {}, ({ status }) => status !== 'pending');
  return loaded(batch, (value) => {
    const { roles } = value;
    if (value.status !== 'completed') return html`<${Progress} ...${value} />`;
    const has = (name) => roles.some((role) => (role[name] ?? 0) > 0);
    return html`<div class="stack" role="status">
      ${has('gained') || has('lost') ? '' : html`<p class="notice">Nobody would gain or lose a role.</p>`}
      <${Changes} roles=${roles} />
      ${has('lost') && html`<${Entries} params=${params} of="lost" rules=${rules} />`}
      ${has('gained') && html`<${Entries} params=${params} of="gained" rules=${rules} />`}
      ${has('undetermined') && html`<${Entries} params=${params} of="unread" rules=${rules} />`}
      <p class="sub"><a href=${`${base}/batches/${encodeURIComponent(requestId)}`}>Open this preview</a> to download it.</p>
    </div>`;
  });
}
