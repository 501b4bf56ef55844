import { ask } from '../../lib/api.js';
import { formatMs, formatPlural } from '../../lib/format.js';
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { useApp } from '../../lib/session.js';
import { foldRoles } from '../../snippets/fold-roles.mjs';
import { CopyButton, JsonView } from '../../ui/copy.js';
import { Card } from '../../ui/page.js';
import { Badge, Facts, StateBadge } from '../../ui/values.js';
import { numberOf } from './describe-detail.js';
import { Why } from './why.js';

/** @import { ApiError } from '../../lib/api.js' */
/** @import { Answer } from '../../lib/types.ts' */
/** @import { RuleFault, SignInFault } from '#shared/contracts/checks/result.ts' */

/**
 * @typedef {Omit<Answer<'POST /api/apps/:clientId/try'>, 'body'> & { body: any }} Tried what the
 *   gateway answered
 */
/** @typedef {{ polls: number, tookMs: number, answer?: Tried, error?: ApiError }} Followed */

/** A check that takes longer is left to its own page. */
const FOLLOWED_MS_MAX = 120_000;
/** Between two polls, as the API asks for by `Retry-After`. */
const AGAIN_MS = 1_000;

/**
 * The outcome of a tried check: the verdicts at a glance, then request and answer unchanged.
 * @param {{ answer: Tried & { check: any, apiKey: string } }} props
 */
export function TryAnswer({ answer: accepted }) {
  const { curl, check, apiKey, durationMs } = accepted;
  const ref = useRef(/** @type {any} */ (null));
  // Below a long form the answer would not be seen.
  useEffect(() => ref.current.closest('.card').scrollIntoView({ block: 'start' }), []);
  const requestId = accepted.status === 202 ? accepted.body?.requestId : undefined;
  const followed = useFollowed(requestId, apiKey);
  const { status, headers, body } = followed.answer ?? accepted;
  const isGood = status >= 200 && status < 300 && body?.status !== 'failed';
  const rules = Array.isArray(check.rules) ? check.rules : [];
  return html`
    <${Card} title="Answer" aside=${html`<${Badge} tone=${isGood ? 'good' : 'bad'}>${status}${body?.status === 'failed' ? ', failed' : ''}<//> <span class="sub">${formatMs(durationMs)}</span>`}>
      ${requestId && html`<${Progress} requestId=${requestId} acceptedMs=${durationMs} followed=${followed} isWebhook=${check.callbackUrl !== undefined} />`}
      <div role="status" ref=${ref}><${Verdicts} body=${body} isDenying=${check.onUndetermined === 'deny'} /></div>
      <${Why} details=${body?.details} rules=${rules} blocks=${body?.blocks} />
      <${JsonView} value=${body} label="Answer as JSON" />
      <details><summary>Headers</summary><${Facts} class="headers mono" pairs=${Object.entries(headers)} /></details>
    <//>
    <${Card} title="Request" aside=${html`<${CopyButton} text=${curl} what="Request" />`}>
      <pre class="code wrap" tabindex="0" aria-label="Request as curl">${curl}</pre>
      ${followed.answer && html`<pre class="code wrap" tabindex="0" aria-label="Poll as curl">${followed.answer.curl}</pre>`}
    <//>
  `;
}

/**
 * One chip per role, folded from its rules, and why a rule could not be read; a problem's own words
 * where there is none.
 */
function Verdicts({ body, isDenying }) {
  const roles = Array.isArray(body?.roles) ? body.roles : [];
  /** @type {any[]} */
  const errors = Array.isArray(body?.errors) ? body.errors : [];
  /** @type {RuleFault[]} */
  const open = errors.filter(({ roleId }) => roleId !== undefined);
  /** @type {SignInFault[]} */
  const unproved = errors.filter(({ account }) => account !== undefined);
  if (unproved.length > 0)
    return html`<ul class="unread">${unproved.map(
      ({ account, message, retryable }) => html`<li key=${account}>
      Wallet <code class="break">${account}</code> is not proved: ${message} ${retryable ? 'Asking again may help.' : 'Asking again would give the same.'}</li>`,
    )}</ul>`;
  /** @type {{ account: string }[]} */
  const proved = Array.isArray(body?.signIn) ? body.signIn : [];
  if (roles.length + open.length === 0)
    return body?.detail ? html`<p class="prose">${String(body.detail)}</p>` : null;
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
    Rule ${numberOf(path ?? `/rules/${ruleIndex}`)} could not be read: ${message} ${retryable ? 'Asking again may help.' : 'Asking again would give the same.'}</li>`,
    )}</ul>`
  }`;
}

/**
 * Polls an accepted check until its result is there, with the same key.
 * @returns {Followed} `answer` is that of the gateway once it is not 202
 */
function useFollowed(requestId, apiKey) {
  const { clientId } = useApp();
  const [state, setState] = useState(/** @type {Followed} */ ({ polls: 0, tookMs: 0 }));
  useEffect(() => {
    if (requestId === undefined) return undefined;
    let isWanted = true;
    /** @type {NodeJS.Timeout} */
    let timer;
    const began = performance.now();
    const poll = async (polls) => {
      try {
        const sent = { params: { clientId, requestId }, body: { apiKey } };
        const answer = await ask('POST /api/apps/:clientId/try/:requestId', sent);
        if (!isWanted) return;
        const tookMs = performance.now() - began;
        const isOver = answer.status !== 202 || tookMs > FOLLOWED_MS_MAX;
        setState({ polls, tookMs, ...(isOver && { answer }) });
        if (!isOver) timer = setTimeout(poll, AGAIN_MS, polls + 1);
      } catch (error) {
        if (isWanted) setState((last) => ({ ...last, error }));
      }
    };
    void poll(1);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [requestId, apiKey]);
  return state;
}

/**
 * The progress of an accepted check: each step as it is reached.
 * @param {{ requestId: string, acceptedMs: number, followed: Followed, isWebhook: boolean }} props
 */
function Progress({ requestId, acceptedMs, followed: { polls, tookMs, answer, error }, isWebhook }) {
  const { base } = useApp();
  const [tone, status, text] =
    answer === undefined && error === undefined
      ? ['quiet', 'Pending', 'Waiting for the result']
      : answer?.status === 200
        ? ['good', 200, 'Result polled']
        : ['bad', answer?.status ?? 'No answer', error?.message ?? 'No result yet'];
  return html`<ol class="attempts progress" aria-live="polite">
    <li><p class="row-title"><${Badge} tone="good">202<//> Accepted</p><p class="sub facts"><span>${formatMs(acceptedMs)}</span><code class="break">${requestId}</code></p></li>
    <li>
      <p class="row-title"><${Badge} tone=${tone}>${status}<//> ${text}</p>
      <p class="sub facts"><span>${formatPlural(polls, 'poll')}</span><span>${formatMs(tookMs)}</span>${answer && html`<a href=${`${base}/checks/${encodeURIComponent(requestId)}`}>See this check</a>`}</p>
    </li>
    ${isWebhook && answer?.status === 200 && html`<${Delivered} requestId=${requestId} />`}
  </ol>`;
}

/** The first attempt of the webhook; later ones are on the delivery's own page. */
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
