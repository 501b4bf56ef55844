import { formatMs } from '../../lib/format.js';
import { html, useEffect, useRef } from '../../lib/html.js';
import { foldRoles } from '../../snippets/fold-roles.mjs';
import { CopyButton } from '../../ui/copy.js';
import { JsonView } from '../../ui/json-view.js';
import { Badge, Card } from '../../ui/states.js';
import { describeDetail, numberOf } from './describe-detail.js';
import { TryProgress, useFollowed } from './try-follow.js';

/** The outcome of a tried check: the verdicts at a glance, then request and answer unchanged. */
export function TryAnswer({ answer: accepted }) {
  const { curl, check, apiKey, durationMs } = accepted;
  const ref = useRef(null);
  // Below a long form the answer would not be seen.
  useEffect(() => ref.current.closest('.card').scrollIntoView({ block: 'start' }), []);
  const requestId = accepted.status === 202 ? accepted.body?.requestId : undefined;
  const followed = useFollowed(requestId, apiKey);
  const { status, headers, body } = followed.answer ?? accepted;
  const isGood = status >= 200 && status < 300 && body?.status !== 'failed';
  const rules = Array.isArray(check.rules) ? check.rules : [];
  return html`
    <${Card} title="Answer" aside=${html`<${Badge} tone=${isGood ? 'good' : 'bad'}>${status}${body?.status === 'failed' ? ', failed' : ''}<//> <span class="sub">${formatMs(durationMs)}</span>`}>
      ${requestId && html`<${TryProgress} requestId=${requestId} acceptedMs=${durationMs} followed=${followed} isWebhook=${check.callbackUrl !== undefined} />`}
      <div role="status" ref=${ref}><${Verdicts} body=${body} isDenying=${check.onUndetermined === 'deny'} /></div>
      <${Details} details=${body?.details} rules=${rules} blocks=${body?.blocks} />
      <${JsonView} value=${body} label="Answer as JSON" />
      <details><summary>Headers</summary><dl class="facts-list headers">${Object.entries(headers).map(
        ([name, value]) =>
          html`<div key=${name}><dt><code>${name}</code></dt><dd class="mono break">${value}</dd></div>`,
      )}</dl></details>
    <//>
    <${Card} title="Request" aside=${html`<${CopyButton} text=${curl} what="Request" />`}>
      <pre class="code wrap" tabindex="0" aria-label="Request as curl">${curl}</pre>
      ${followed.answer && html`<pre class="code wrap" tabindex="0" aria-label="Poll as curl">${followed.answer.curl}</pre>`}
    <//>
  `;
}

/** One chip per role, folded from its rules, and why a rule could not be read; a problem's own words where there is none. */
function Verdicts({ body, isDenying }) {
  const roles = Array.isArray(body?.roles) ? body.roles : [];
  const open = Array.isArray(body?.errors) ? body.errors.filter(({ roleId }) => roleId !== undefined) : [];
  if (roles.length + open.length === 0)
    return body?.detail ? html`<p class="prose">${String(body.detail)}</p>` : null;
  const held = foldRoles({ roles, errors: isDenying ? [] : open });
  return html`<ul class="verdicts">
    ${[...held].map(([role, isHeld]) => html`<li key=${role}><span class="break">${role}</span><${Verdict} isHeld=${isHeld} /></li>`)}
  </ul>
  ${
    open.length > 0 &&
    html`<ul class="unread">${open.map(
      ({ ruleIndex, path, message, retryable }) => html`<li key=${ruleIndex}>
    Rule ${numberOf(path ?? `/rules/${ruleIndex}`)} could not be read: ${message} ${retryable ? 'Asking again may help.' : 'Asking again would give the same.'}</li>`,
    )}</ul>`
  }`;
}

function Verdict({ isHeld }) {
  const name = isHeld === undefined ? 'undetermined' : isHeld ? 'granted' : 'denied';
  return html`<strong class=${name}>${name}</strong>`;
}

/** Why each rule ended as it did, where the check asked for it. */
function Details({ details, rules, blocks, path = '' }) {
  if (!Array.isArray(details)) return null;
  return html`<ul class="why">${details.map((detail, place) => {
    const at = detail.ruleIndex ?? place;
    const rule = rules[at];
    return html`<li key=${at}><span>Rule ${numberOf(`${path}/${at}`)}</span> <strong class=${detail.outcome}>${detail.outcome}</strong>${': '}<span class="break">${describeDetail(detail, rule, blocks)}</span>
      <${Details} details=${detail.rules} rules=${rule?.rules ?? []} blocks=${blocks} path=${`${path}/${at}`} /></li>`;
  })}</ul>`;
}
