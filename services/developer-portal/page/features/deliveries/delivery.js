import { ask, makeUuid } from '../../lib/api.js';
import { formatMinute, formatMs } from '../../lib/format.js';
import { html, useRef, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Empty, Loaded, Time } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { Missing } from '../frame/missing.js';
import { wordsOfAttempt } from './attempt-words.js';
import { StateBadge } from './deliveries.js';
import { SentRequest } from './sent-request.js';

/** One delivery: every attempt with its response, and the request that was sent. */
export function Delivery({ item }) {
  const { api, base, may } = useApp();
  const path = `${api}/deliveries/${encodeURIComponent(item)}`;
  const delivery = useResource(path);
  const key = useRef(makeUuid());
  const [isBusy, setIsBusy] = useState(false);
  const resend = async () => {
    if (isBusy) return;
    setIsBusy(true);
    try {
      await ask('POST', `${path}/resend`, { idempotencyKey: key.current });
      key.current = makeUuid();
      toast('The webhook will be sent again in a moment');
      delivery.reload();
    } catch (error) {
      if (!error.isUncertain) key.current = makeUuid();
      toast(
        error.isUncertain ? 'The connection was lost. Trying again is safe: it is sent once.' : error.message,
        'bad',
      );
    }
    setIsBusy(false);
  };
  if (delivery.error?.status === 404) return html`<${Missing} />`;
  const actions = html`<button type="button" onClick=${delivery.reload}>Refresh</button>
    ${may('resendDelivery') && html`<button type="button" class="primary" aria-disabled=${isBusy ? 'true' : undefined} onClick=${resend}>Resend</button>`}`;
  return html`
    <p class="crumbs"><a href=${`${base}/webhooks${location.search}`}>← Webhooks</a></p>
    <${PageHead} title="Delivery" aside=${actions}><p class="sub mono break">${item}</p><//>
    <${Loaded} resource=${delivery}>${({ state, callbackUrl, nextAttemptAt, attempts, payload }) => html`
      <${Card}><dl class="facts-list">
        <div><dt>State</dt><dd><${StateBadge} state=${state} /></dd></div>
        ${nextAttemptAt && html`<div><dt>Next attempt</dt><dd><${Time} at=${nextAttemptAt} /></dd></div>`}
        <div><dt>Receiver</dt><dd class="mono break">${callbackUrl}</dd></div>
        ${isOfCheck(payload) && html`<div><dt>Check</dt><dd><a href=${`${base}/checks/${encodeURIComponent(item)}`}>Rules and result</a></dd></div>`}
      </dl><//>
      <${Card} title="Attempts">
        ${attempts.length === 0 && html`<${Empty} title="None yet"><p>It waits for its first attempt.</p><//>`}
        <ol class="attempts">${attempts.toReversed().map(
          (attempt) => html`<${Attempt} key=${`${attempt.attempt}/${attempt.at}`} data=${attempt}>
          ${attempt === attempts.findLast(({ status }) => status !== undefined) && html`<${Answer} path=${path} />`}<//>`,
        )}</ol>
      <//>
      <${SentRequest} requestId=${item} payload=${payload} attempts=${attempts} />`}<//>
  `;
}

/** Events of batches, watches and tests say their type; the result of a check has none. */
const isOfCheck = (payload) => payload !== undefined && JSON.parse(payload).type === undefined;

const toneOf = (name, status) => (name === 'delivered' || (status >= 200 && status < 300) ? 'good' : 'bad');

const Attempt = ({ data: { attempt, at, status, durationMs, class: name }, children }) => html`<li>
  <p class="row-title"><${Badge} tone=${toneOf(name, status)}>${status ?? 'No answer'}<//> Attempt ${attempt}</p>
  <p class="sub facts"><span>${formatMinute(at)}</span><span>${formatMs(durationMs)}</span><span>${wordsOfAttempt({ class: name })}</span></p>
  ${children}
</li>`;

/** What the receiver answered to the last attempt that reached it. It is read on demand: that takes the broker a moment. */
function Answer({ path }) {
  const [isWanted, setIsWanted] = useState(false);
  return isWanted
    ? html`<${KeptAnswer} path=${path} />`
    : html`<div class="actions"><button type="button" onClick=${() => setIsWanted(true)}>Show the answer</button></div>`;
}

function KeptAnswer({ path }) {
  const kept = useResource(`${path}/answer`);
  return html`<${Loaded} resource=${kept}>${({ answer }) =>
    answer === undefined
      ? html`<p class="sub" role="status">It was empty, or is not kept: answers are kept for 30 days, and not once the account has used its bytes of the day.</p>`
      : html`<pre class="code" tabindex="0" aria-label="Answer of the receiver">${answer}</pre>`}<//>`;
}
