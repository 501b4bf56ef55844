import { ask } from '../../lib/api.js';
import { formatMinute, formatMs } from '../../lib/format.js';
import { html, useState, when } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { useApp } from '../../lib/session.js';
import { useAction } from '../../lib/submit.js';
import { Code, CopyButton, JsonView } from '../../ui/copy.js';
import { Card, Crumb, Empty, loaded, PageHead, refreshButton } from '../../ui/page.js';
import { toast } from '../../ui/toasts.js';
import { Badge, Facts, StateBadge, Time } from '../../ui/values.js';
import { Missing } from '../frame/frame.js';
import { headersOf, verifyCommand } from './webhook-headers.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/deliveries/:requestId'>['attempts'][number]}
 * Attempt */

/**
 * The outcomes of an attempt, in words; one that is not listed is shown as it is.
 * @type {Record<string, string>}
 */
const WORDS = {
  delivered: 'Delivered',
  'http-3xx': 'A redirect, which is not followed',
  'http-4xx': 'Refused by the receiver',
  'http-5xx': 'The receiver failed',
  gone: 'Gone: the receiver wants no more webhooks',
  timeout: 'No answer in time',
  'connect-failed': 'Could not connect',
  'connection-reset': 'The connection broke',
  'tls-failed': 'TLS failed',
  'dns-failed': 'The name could not be resolved',
  'address-refused': 'The address is not allowed',
  'response-malformed': 'The answer was malformed',
};

/**
 * @param {{ class: string, status?: number | undefined }} attempt
 * @example
 * wordsOfAttempt({ class: 'http-5xx', status: 503 }); // 'The receiver failed (503)'
 */
export const wordsOfAttempt = ({ class: name, status }) =>
  `${WORDS[name] ?? name}${status === undefined ? '' : ` (${status})`}`;

/** One delivery: every attempt with its response, and the request that was sent. */
export function Delivery({ item }) {
  const { clientId, base, may } = useApp();
  const params = { clientId, requestId: item };
  const delivery = useResource('GET /api/apps/:clientId/deliveries/:requestId', params);
  const [resend, busy] = useAction(
    (idempotencyKey) =>
      ask('POST /api/apps/:clientId/deliveries/:requestId/resend', { params, idempotencyKey }),
    () => {
      toast('The webhook will be sent again in a moment');
      delivery.reload();
    },
  );
  if (delivery.error?.status === 404) return html`<${Missing} />`;
  const actions = html`${refreshButton(delivery)}
    ${may('resendDelivery') && html`<button type="button" class="primary" aria-disabled=${busy ? 'true' : undefined} onClick=${resend}>Resend</button>`}`;
  return html`
    <${Crumb} base=${base} section=${`webhooks${location.search}`} name="Webhooks" />
    <${PageHead} title="Delivery" aside=${actions}><p class="sub mono break">${item}</p><//>
    ${loaded(delivery, ({ state, callbackUrl, nextAttemptAt, attempts, payload }) => {
      const lastAnswered = attempts.findLast(({ status }) => status !== undefined);
      return html`
      <${Card}><${Facts} pairs=${[
        ['State', html`<${StateBadge} of="delivery" state=${state} />`],
        ['Next attempt', when(nextAttemptAt, (at) => html`<${Time} at=${at} />`)],
        ['Receiver', html`<span class="mono">${callbackUrl}</span>`],
        [
          'Check',
          isOfCheck(payload) &&
            html`<a href=${`${base}/checks/${encodeURIComponent(item)}`}>Rules and result</a>`,
        ],
      ]} /><//>
      <${Card} title="Attempts">
        ${attempts.length === 0 && html`<${Empty} title="None yet"><p>It waits for its first attempt.</p><//>`}
        <ol class="attempts">${attempts.toReversed().map(
          (attempt) => html`<li key=${`${attempt.attempt}/${attempt.at}`}>
            <p class="row-title"><${Badge} tone=${isGood(attempt) ? 'good' : 'bad'}>${attempt.status ?? 'No answer'}<//> Attempt ${attempt.attempt}</p>
            <p class="sub facts"><span>${formatMinute(attempt.at)}</span><span>${formatMs(attempt.durationMs)}</span><span>${wordsOfAttempt({ class: attempt.class })}</span></p>
            ${attempt === lastAnswered && html`<${Answer} params=${params} />`}
          </li>`,
        )}</ol>
      <//>
      <${SentRequest} requestId=${item} payload=${payload} attempt=${attempts.at(-1)} />`;
    })}
  `;
}

/** Events of batches, watches and tests say their type; the result of a check has none. */
const isOfCheck = (payload) => payload !== undefined && JSON.parse(payload).type === undefined;

/** @param {Attempt} attempt */
const isGood = ({ class: name, status = 0 }) => name === 'delivered' || (status >= 200 && status < 300);

/**
 * What the receiver answered to the last attempt that reached it. It is read on demand: that takes
 * the broker a moment.
 */
function Answer({ params }) {
  const [isWanted, setIsWanted] = useState(false);
  return isWanted
    ? html`<${KeptAnswer} params=${params} />`
    : html`<div class="actions"><button type="button" onClick=${() => setIsWanted(true)}>Show the answer</button></div>`;
}

const KeptAnswer = ({ params }) =>
  loaded(useResource('GET /api/apps/:clientId/deliveries/:requestId/answer', params), ({ answer }) =>
    answer === undefined
      ? html`<p class="sub" role="status">It was empty, or is not kept: answers are kept for 30 days, and not once the account has used its bytes of the day.</p>`
      : html`<pre class="code" tabindex="0" aria-label="Answer of the receiver">${answer}</pre>`,
  );

/**
 * The document that was sent, the headers of the last attempt, and how to compute its signature.
 * @param {{ requestId: string, payload?: string, attempt?: Attempt }} props
 */
function SentRequest({ requestId, payload, attempt }) {
  return html`<${Card} title="Payload" aside=${payload !== undefined && html`<${CopyButton} text=${payload} what="Payload" />`}>
    ${
      payload === undefined
        ? html`<p class="prose">The payload has expired.</p>`
        : html`<p class="prose">Indented for reading. <em>Copy</em> copies the bytes as they are sent and signed,
            the same on every attempt.</p>
          <${JsonView} value=${JSON.parse(payload)} label="Payload" />`
    }
  <//>
  ${
    attempt &&
    html`<${Card} title=${`Headers of attempt ${attempt.attempt}`}><${Facts} class="mono" pairs=${headersOf(requestId, attempt)} /><//>`
  }
  ${
    attempt &&
    payload !== undefined &&
    html`<${Card} title="Verify the signature">
      <p class="prose">The portal shows no signature, because it does not decrypt your secret. Copy the payload into
        ${' '}<code>payload.json</code> and put your secret into the first line: the last line prints the signature
        of attempt ${attempt.attempt}. <a href="/docs/webhooks">The documentation</a> has the code for your receiver.</p>
      <${Code} note=${html`<code>sh, openssl</code>`} text=${verifyCommand(requestId, attempt)} what="Commands" label="Commands that compute the signature" />
    <//>`
  }`;
}
