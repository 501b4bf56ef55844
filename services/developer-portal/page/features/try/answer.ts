import type { RuleFault, SignInFault } from '#shared/contracts/checks/result.ts';
import { ask } from '../../lib/api.ts';
import { formatMs, formatPlural } from '../../lib/format.ts';
import { html, useEffect, useRef, useState } from '../../lib/html.ts';
import { useRead, useResource } from '../../lib/resources.ts';
import { useApp } from '../../lib/session.ts';
import { foldRoles } from '../../snippets/fold-roles.mjs';
import { CopyButton, JsonView } from '../../ui/copy.ts';
import { Card } from '../../ui/page.ts';
import { Badge, Facts, StateBadge } from '../../ui/values.ts';
import { numberOf } from './describe-detail.ts';
import { Why } from './why.ts';

/** A check that takes longer is left to its own page. */
const FOLLOWED_MS_MAX = 120_000;

export function TryAnswer({ answer: accepted }) {
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
  const open: RuleFault[] = errors.filter(({ roleId }) => roleId !== undefined);
  const unproved: SignInFault[] = errors.filter(({ account }) => account !== undefined);
  const adviceOf = (retryable) =>
    retryable ? 'Asking again may help.' : 'Asking again would give the same.';
  if (unproved.length > 0)
    return html`<ul class="unread">${unproved.map(
      ({ account, message, retryable }) => html`<li key=${account}>
      Wallet <code class="break">${account}</code> is not proved: ${message} ${adviceOf(retryable)}</li>`,
    )}</ul>`;
  if (roles.length + open.length === 0) return detail ? html`<p class="prose">${String(detail)}</p>` : null;
  const held = foldRoles({ roles, errors: isDenying ? [] : open });
  return html`${proved.map(({ account }) => html`<p class="sub" key=${account}>Wallet <code class="break">${account}</code> is proved.</p>`)}
  <ul class="verdicts">${[...held].map(([role, isHeld]) => {
    const name = isHeld === undefined ? 'undetermined' : isHeld ? 'granted' : 'denied';
    return html`<li key=${role}><span class="break">${role}</span><strong class=${name}>${name}</strong></li>`;
  })}</ul>
  ${
    open.length > 0 &&
    html`<ul class="unread">${open.map(
      ({ ruleIndex, path, message, retryable }) => html`<li key=${ruleIndex}>
    Rule ${numberOf(path ?? `/rules/${ruleIndex}`)} could not be read: ${message} ${adviceOf(retryable)}</li>`,
    )}</ul>`
  }`;
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
