import { ApiError, ask, faultAt } from '../../lib/api.ts';
import { formatPlural } from '../../lib/format.ts';
import { html, useState } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { useApp } from '../../lib/session.ts';
import { useSubmit } from '../../lib/submit.ts';
import { Field, Form, KeyField } from '../../ui/form.ts';
import { Card, loaded } from '../../ui/page.ts';
import { Changes, EntryLists, Progress, useBatch } from '../batches/batches.ts';
import type { JsonEditor } from './json-editor.ts';

/** The gateway reads all members of the watch before it answers. */
const START_MS_MAX = 130_000;

/** Who of the watches of a rule set would gain or lose a role by the rules that are being written.
 * Nothing where no watch uses the rule set. */
export function Preview({ ruleSetId, editor }: { ruleSetId: string; editor: JsonEditor }) {
  const { clientId } = useApp();
  const { value } = useResource('GET /api/apps/:clientId/watches', { clientId });
  const watches = (value?.watches ?? []).filter(
    ({ ruleSet, members }) => ruleSet === ruleSetId && members > 0,
  );
  if (watches.length === 0) return null;
  return html`<${PreviewForm} watches=${watches} editor=${editor} />`;
}

function PreviewForm({ watches, editor: { parsed } }) {
  const { clientId } = useApp();
  const [watchId, setWatchId] = useState(watches[0].watchId);
  const [started, setStarted] = useState<{ requestId: string }>();
  const members = watches.find((watch) => watch.watchId === watchId)?.members ?? 0;
  const send = async ({ apiKey }, idempotencyKey) => {
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
    const { requestId } = answer.body as { requestId: string };
    return { requestId, rules };
  };
  const form = useSubmit(send, setStarted);
  const ofRules = Object.entries(form.faults).filter(([pointer]) => pointer.startsWith('/rules'));
  return html`<${Card} title="Who would gain, who would lose">
    <p class="prose">${watches.length === 1 ? html`The watch <strong class="break">${watchId}</strong> uses` : `${watches.length} watches use`} this
      rule set. See what the rules above would change for its members before you store them: nothing is sent, and no member changes.</p>
    <${Form} form=${form} submit="Show the changes" label="Preview">
      ${
        watches.length > 1 &&
        html`<${Field} label="Watch" name="watch" choices=${watches.map((watch) => watch.watchId)} value=${watchId} onChange=${(event) => setWatchId(event.target.value)} />`
      }
      <${KeyField} />
      ${ofRules.length > 0 && html`<p class="fault" role="alert" tabindex="-1">${ofRules.map(([, detail]) => detail).join(' ')}</p>`}
      <p class="notice">It costs ${formatPlural(members, 'check')} of the month's quota, one for each member.</p>
    <//>
    ${started && html`<${PreviewOutcome} key=${started.requestId} ...${started} />`}
  <//>`;
}

function PreviewOutcome({ requestId, rules }) {
  const { clientId, base } = useApp();
  const params = { clientId, requestId };
  return loaded(useBatch(params), (value) => {
    const { status, roles } = value;
    if (status !== 'completed') return html`<${Progress} ...${value} />`;
    const isChange = roles.some(({ gained, lost }) => gained || lost);
    return html`<div class="stack" role="status">
      ${!isChange && html`<p class="notice">Nobody would gain or lose a role.</p>`}
      <${Changes} roles=${roles} /><${EntryLists} params=${params} roles=${roles} rules=${rules} />
      <p class="sub"><a href=${`${base}/batches/${encodeURIComponent(requestId)}`}>Open this preview</a> to download it.</p>
    </div>`;
  });
}
