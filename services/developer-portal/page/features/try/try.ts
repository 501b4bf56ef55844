import type { CheckResult } from '#shared/contracts/checks/result.ts';
import { type Answer, type ApiError, ask, faultAt } from '../../lib/api.ts';
import { formatMs, formatPlural } from '../../lib/format.ts';
import { html, useEffect, useRef, useState } from '../../lib/html.ts';
import { useRead, useResource } from '../../lib/resources.ts';
import { useApp } from '../../lib/session.ts';
import { useSubmit } from '../../lib/submit.ts';
import { foldRoles } from '../../snippets/fold-roles.mjs';
import { CopyButton, JsonView } from '../../ui/copy.ts';
import { Form, KeyField } from '../../ui/form.ts';
import { Card, loaded, PageHead } from '../../ui/page.ts';
import { Badge, Facts, StateBadge } from '../../ui/values.ts';
import { Unread } from '../checks/checks.ts';
import { NeedsScope } from '../frame/frame.ts';
import { newRule, type Rule } from '../rule-sets/edit-rules.ts';
import { EditorPanes, useJsonEditor } from '../rule-sets/json-editor.ts';
import { checkOfFragment, fragmentOf } from './check-address.ts';
import { makeExamples } from './check-examples.ts';
import { CheckFields } from './check-fields.ts';
import { Why } from './why.ts';

/** Browsers refuse to change the address too often. */
const SAVE_AFTER_MS = 400;

export function Try() {
  const options = useResource('GET /api/try-options', {});
  return html`
    <${PageHead} title="Try it"><p class="sub">Runs a real check, which counts against the quota. The key goes to the
      gateway and is not kept.</p><//>
    ${loaded(options, (value) => html`<${Playground} ...${value} />`)}
  `;
}

type TriedCheck = Answer<'POST /api/apps/:clientId/try'> & { apiKey: string; check: Rule };

function Playground({ chains, demo }: Answer<'GET /api/try-options'>) {
  const { clientId } = useApp();
  const firstChain = chains[0]?.chainId;
  const editor = useCheckEditor({ account: '', explain: true, rules: [newRule(firstChain, 'role-1')] });
  const [answer, setAnswer] = useState<TriedCheck>();
  const newest = useResource('GET /api/apps/:clientId/deliveries', { clientId }, { limit: 1 });
  const send = async (values, idempotencyKey) => {
    setAnswer(undefined);
    const { fault, value: check } = editor.parsed;
    if (fault) throw faultAt('/json', fault.text);
    const body = { apiKey: values.apiKey.trim(), check };
    const sent = await ask('POST /api/apps/:clientId/try', { params: { clientId }, body, idempotencyKey });
    return { ...sent, ...body };
  };
  const form = useSubmit(send, setAnswer);
  const { errors } = (answer?.body ?? {}) as Partial<Pick<ApiError, 'errors'>>;
  const faults = { ...faultsOf(form.error?.errors, '/check'), ...faultsOf(errors, ''), ...form.faults };
  return html`
    <${NeedsScope}>Without the approved scope the answer is 403.<//>
    <div class="examples" role="group" aria-label="Examples">
      <span class="label">Examples</span>
      ${makeExamples(demo, firstChain).map(
        ([name, check]) =>
          html`<button key=${name} type="button" onClick=${() => editor.setValue(check)}>${name}</button>`,
      )}
    </div>
    <${Card} class="playground">
      <${Form} form=${{ ...form, faults }} submit="Run check" label="A check">
        <${KeyField} />
        <${EditorPanes} editor=${editor} what="Check" hint="Form and JSON stay in sync. Ctrl+Enter runs the check."
          note=${editor.isKept ? 'This check is kept in the address of the page, without the key.' : 'It is too long or contains a key, so it is not kept in the address of the page.'}>
          <${CheckFields} check=${editor.value} setCheck=${editor.setValue} chains=${chains}
            knownUrl=${newest.value?.deliveries[0]?.callbackUrl ?? ''} />
        <//>
      <//>
    <//>
    ${answer && html`<${TryAnswer} answer=${answer} />`}
  `;
}

/** Faults by pointer, of the check's own fields: `/rules/0/minToken`. An undetermined rule is not
 * a fault of a field. */
const faultsOf = (errors: ApiError['errors'] = [], prefix: string): Record<string, string> =>
  Object.fromEntries(
    errors
      .filter(({ pointer }) => pointer?.startsWith(prefix))
      .map(({ pointer, detail }) => [pointer.slice(prefix.length), detail]),
  );

/** The editor of a check. It is kept in the address, so that a reload and a shared link open the
 * same check. */
function useCheckEditor(first: Rule) {
  const editor = useJsonEditor(() => checkOfFragment(location.hash) ?? first);
  const { parsed, setValue } = editor;
  const fragment = parsed.fault ? undefined : fragmentOf(parsed.value);
  useEffect(() => {
    if (fragment === undefined || fragment === location.hash) return undefined;
    const save = () => history.replaceState(null, '', location.pathname + location.search + fragment);
    const timer = setTimeout(save, SAVE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [fragment]);
  useEffect(() => {
    const follow = () => {
      const check = checkOfFragment(location.hash);
      if (check) setValue(check);
    };
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return { ...editor, isKept: parsed.fault !== undefined || fragment !== undefined };
}

/** A check that takes longer is left to its own page. */
const FOLLOWED_MS_MAX = 120_000;

function TryAnswer({ answer: accepted }) {
  const { curl, check, apiKey, durationMs } = accepted;
  const ref = useRef<HTMLElement>(null);
  // Below a long form the answer would not be seen.
  useEffect(() => ref.current.closest('.card')?.scrollIntoView({ block: 'start' }), []);
  const requestId = accepted.status === 202 ? accepted.body?.requestId : undefined;
  const followed = useFollowed(requestId, apiKey);
  const polled = followed.value?.isOver ? followed.value.answer : undefined;
  const { status, headers, body } = polled ?? accepted;
  const isGood = status >= 200 && status < 300 && body?.status !== 'failed';
  return html`
    <${Card} title="Answer" aside=${html`<${Badge} tone=${isGood ? 'good' : 'bad'}>${status}${body?.status === 'failed' ? ', failed' : ''}<//> <span class="sub">${formatMs(durationMs)}</span>`}>
      ${requestId && html`<${Progress} requestId=${requestId} acceptedMs=${durationMs} followed=${followed} isWebhook=${check.callbackUrl !== undefined} />`}
      <div role="status" ref=${ref}><${Verdicts} body=${body} isDenying=${check.onUndetermined === 'deny'} /></div>
      <${Why} details=${body?.details} rules=${check.rules} blocks=${body?.blocks} />
      <${JsonView} value=${body} label="Answer as JSON" />
      <details><summary>Headers</summary><${Facts} class="headers mono" pairs=${Object.entries(headers)} /></details>
    <//>
    <${Card} title="Request" aside=${html`<${CopyButton} text=${curl} what="Request" />`}>
      <pre class="code wrap" tabindex="0" aria-label="Request as curl">${curl}</pre>
      ${polled && html`<pre class="code wrap" tabindex="0" aria-label="Poll as curl">${polled.curl}</pre>`}
    <//>
  `;
}

/** One chip per role, folded from its rules, and why a rule could not be read; a problem's own
 * words where there is none. */
function Verdicts({ body, isDenying }) {
  const { roles = [], errors = [], signIn: proved = [], detail } = body ?? {};
  // The errors of a problem are about fields.
  const unread: CheckResult['errors'] = errors.filter(({ retryable }) => retryable !== undefined);
  if (roles.length + unread.length === 0) return detail ? html`<p class="prose">${String(detail)}</p>` : null;
  const held = foldRoles({ roles, errors: isDenying ? [] : unread.filter((fault) => 'roleId' in fault) });
  return html`${proved.map(({ account }) => html`<p class="sub" key=${account}>Wallet <code class="break">${account}</code> is proved.</p>`)}
  <ul class="verdicts">${[...held].map(([role, isHeld]) => {
    const name = isHeld === undefined ? 'undetermined' : isHeld ? 'granted' : 'denied';
    return html`<li key=${role}><span class="break">${role}</span><strong class=${name}>${name}</strong></li>`;
  })}</ul>
  ${unread.length > 0 && html`<${Unread} errors=${unread} />`}`;
}

function useFollowed(requestId: string | undefined, apiKey: string) {
  const { clientId } = useApp();
  const polls = useRef(0);
  const [began] = useState(() => performance.now());
  const poll = async () => {
    if (requestId === undefined) return undefined;
    polls.current += 1;
    const sent = { params: { clientId, requestId }, body: { apiKey } };
    const answer = await ask('POST /api/apps/:clientId/try/:requestId', sent);
    const tookMs = performance.now() - began;
    const isOver = answer.status !== 202 || tookMs > FOLLOWED_MS_MAX;
    return { answer, tookMs, polls: polls.current, isOver };
  };
  return useRead(`${requestId}`, poll, (last) => last?.isOver !== false);
}

function Progress({ requestId, acceptedMs, followed, isWebhook }) {
  const { value, error }: ReturnType<typeof useFollowed> = followed;
  const { polls = 0, tookMs = 0, isOver = error !== undefined } = value ?? {};
  const status = isOver ? value?.answer.status : undefined;
  const { base } = useApp();
  const [tone, badge, text] = !isOver
    ? ['quiet', 'Pending', 'Waiting for the result']
    : status === 200
      ? ['good', 200, 'Result polled']
      : ['bad', status ?? 'No answer', error?.message ?? 'No result yet'];
  return html`<ol class="attempts progress" aria-live="polite">
    <li><p class="row-title"><${Badge} tone="good">202<//> Accepted</p><p class="sub facts"><span>${formatMs(acceptedMs)}</span><code class="break">${requestId}</code></p></li>
    <li>
      <p class="row-title"><${Badge} tone=${tone}>${badge}<//> ${text}</p>
      <p class="sub facts"><span>${formatPlural(polls, 'poll')}</span><span>${formatMs(tookMs)}</span>${status && html`<a href=${`${base}/checks/${encodeURIComponent(requestId)}`}>See this check</a>`}</p>
    </li>
    ${isWebhook && status === 200 && html`<${Delivered} requestId=${requestId} />`}
  </ol>`;
}

function Delivered({ requestId }) {
  const { clientId, base } = useApp();
  const params = { clientId, requestId };
  const check = useResource(
    'GET /api/apps/:clientId/checks/:requestId',
    params,
    {},
    ({ delivery }) => delivery?.attempts[0] !== undefined,
  );
  const delivery = check.value?.delivery;
  const first = delivery?.attempts[0];
  return html`<li>
    <p class="row-title">${delivery ? html`<${StateBadge} of="delivery" state=${delivery.state} />` : html`<${Badge}>Waiting<//>`} Webhook</p>
    ${first && html`<p class="sub facts"><span>Attempt 1: ${first.status ?? 'no answer'}</span><span>${formatMs(first.durationMs)}</span><a href=${`${base}/webhooks/${encodeURIComponent(requestId)}`}>See what was sent</a></p>`}
  </li>`;
}
