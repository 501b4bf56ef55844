import { sends } from '../../lib/api.ts';
import { formatDate, formatMinute, formatMs, formatPlural, instantOf } from '../../lib/format.ts';
import { html, useState } from '../../lib/html.ts';
import { usePages, useResource } from '../../lib/resources.ts';
import { useQuery } from '../../lib/router.ts';
import { useApp } from '../../lib/session.ts';
import { Code, CopyButton, JsonView } from '../../ui/copy.ts';
import {
  Field,
  FilterField,
  FormDialog,
  openDialog,
  ReplaceSecret,
  SendButton,
  SendForm,
} from '../../ui/form.ts';
import {
  Card,
  Crumb,
  Empty,
  loaded,
  loadedPage,
  OnDemand,
  Paged,
  PageHead,
  refreshButton,
} from '../../ui/page.ts';
import { Badge, choicesOf, Facts, StateBadge, Time } from '../../ui/values.ts';
import { headersOf, verifyCommand } from './webhook-headers.ts';

const HOUR_MS = 3_600_000;
const SPANS = { 1: 'the last hour', 24: 'the last 24 hours', 72: 'the last 3 days', 720: 'the last 30 days' };

export function Deliveries() {
  const { clientId, base, may } = useApp();
  const query = useQuery({ state: '', since: '' });
  const [{ state, since }] = query;
  const deliveries = usePages('GET /api/apps/:clientId/deliveries', { clientId }, 'deliveries', {
    state,
    since: instantOf(since),
  });
  const resendFailed = () => {
    // Fixed when the form is opened: a second try must send the very same.
    const openedAtMs = Date.now();
    const send = sends('POST /api/apps/:clientId/deliveries/resend-failed', { clientId }, ({ hours }) => ({
      since: new Date(openedAtMs - Number(hours) * HOUR_MS).toISOString(),
    }));
    openDialog(html`<${FormDialog} after=${deliveries.first.reload} title="Resend failed deliveries" submit="Resend" send=${send}
        said=${({ count }) => (count === 0 ? 'No failed delivery since then' : `${formatPlural(count, 'delivery', 'deliveries')} will be sent again`)}>
        <p class="prose">Every delivery that is exhausted or was stopped by a 410 is sent again with the same id and body.
          Your receiver should ignore ids it has handled.</p>
        <${Field} label="Failed within" name="hours" choices=${SPANS} chosen="24" pointer="/since" />
      <//>`);
  };
  const empty = html`<${Empty} title="No deliveries"><p>${
    state || since
      ? 'None matches these filters.'
      : 'Give a check a callbackUrl, or send a test event, and it appears here.'
  }</p><//>`;
  return html`
    <${PageHead} title="Webhooks">
      <p class="sub">Results are sent by POST to the <code>callbackUrl</code> of a check. Failed attempts are repeated for up to 40 hours.</p>
    <//>
    <div class=${may('sendTestEvent') ? 'two' : ''}><${SigningSecret} />${may('sendTestEvent') && html`<${TestEvent} onSent=${deliveries.first.reload} />`}</div>
    <${Card} title="Deliveries" class="deliveries" aside=${html`<div class="inline">
        ${refreshButton(deliveries.first)}
        ${may('resendFailed') && html`<button type="button" onClick=${resendFailed}>Resend failed…</button>`}</div>`}>
      <div class="filters">
        <${FilterField} query=${query} label="State" name="state" choices=${choicesOf('delivery')} />
        <${FilterField} query=${query} label="Since" type="datetime-local" name="since" required />
      </div>
      <${Paged} of=${deliveries} empty=${empty}><ul class="rows inner">${deliveries.rows.map(
        ({ requestId, state, callbackUrl, attempts, lastAttempt: last }) => html`<li key=${requestId}>
          <div class="grow">
            <a class="row-link mono" href=${`${base}/webhooks/${encodeURIComponent(requestId)}${location.search}`}>${requestId}</a>
            <p class="sub clip" title=${callbackUrl}>${callbackUrl}</p>
          </div>
          <div class="badges"><${StateBadge} of="delivery" state=${state} /></div>
          <p class="sub facts">
            <span>${formatPlural(attempts, 'attempt')}</span>
            ${last && html`<span>${wordsOfAttempt(last)} in ${formatMs(last.durationMs)}</span><span><${Time} at=${last.at} /></span>`}
          </p>
        </li>`,
      )}</ul><//>
    <//>
  `;
}

function SigningSecret() {
  const { app, clientId, reload, may } = useApp();
  const send = sends('POST /api/apps/:clientId/secret/rotate', { clientId });
  const rotate = () =>
    openDialog(html`<${ReplaceSecret} after=${reload} title="Rotate the signing secret" submit="Rotate secret" send=${send} until="The old secret stops signing"
        show=${({ webhookSecret }) => ({
          title: 'Your new signing secret',
          secrets: [['Webhook secret', webhookSecret]],
        })}>
        <p class="prose">During the overlap every message carries two signatures, so that a receiver with either secret
          verifies it.</p>
      <//>`);
  return html`<${Card} title="Signing secret"
    aside=${may('rotateSecret') && html`<button type="button" onClick=${rotate}>Rotate…</button>`}>
    <ul class="rows inner">${app.secrets.map(
      ({ createdAt, expiresAt }) => html`<li key=${createdAt}>
        <div class="grow"><code>whsec_••••••••</code> ${expiresAt ? html`<${Badge} tone="warn">Ends <${Time} at=${expiresAt} /><//>` : html`<${Badge} tone="good">Current<//>`}</div>
        <p class="sub facts">Since ${formatDate(createdAt)}</p>
      </li>`,
    )}</ul>
    <p class="hint">Each message is signed with every secret that is listed. <a href="/docs/webhooks">How to verify</a></p>
  <//>`;
}

function TestEvent({ onSent }) {
  const { clientId, base } = useApp();
  const [sent, setSent] = useState('');
  const done = ({ requestId }) => {
    setSent(requestId);
    onSent();
  };
  return html`<${Card} title="Test event">
    <${SendForm} submit="Send test event" label="Test event" onDone=${done}
      send=${sends('POST /api/apps/:clientId/test-event', { clientId })}>
      <${Field} label="Callback URL" name="callbackUrl" type="url" inputmode="url" required maxlength="2048"
        placeholder="https://example.com/hooks/rolecall" hint="A signed example message; one every 20 seconds at most." />
    <//>
    ${sent && html`<p class="notice good" role="status">On its way: <a class="mono" href=${`${base}/webhooks/${encodeURIComponent(sent)}`}>${sent}</a></p>`}
  <//>`;
}

/** The outcomes of an attempt, in words; one that is not listed is shown as it is. */
const WORDS: Record<string, string> = {
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

/** The outcome, and the status if there was an answer: `The receiver failed (503)`. */
const wordsOfAttempt = ({ class: name, status }: { class: string; status?: number | undefined }) =>
  `${WORDS[name] ?? name}${status === undefined ? '' : ` (${status})`}`;

export function Delivery({ item }) {
  const { clientId, base, may } = useApp();
  const params = { clientId, requestId: item };
  const delivery = useResource('GET /api/apps/:clientId/deliveries/:requestId', params);
  const send = sends('POST /api/apps/:clientId/deliveries/:requestId/resend', params);
  const actions = html`${refreshButton(delivery)}
    ${may('resendDelivery') && html`<${SendButton} class="primary" send=${send} said="The webhook will be sent again in a moment" onDone=${delivery.reload}>Resend<//>`}`;
  return loadedPage(delivery, 'Delivery', ({ state, callbackUrl, nextAttemptAt, attempts, payload }) => {
    const lastAnswered = attempts.findLast(({ status }) => status !== undefined);
    const check = html`<a href=${`${base}/checks/${encodeURIComponent(item)}`}>Rules and result</a>`;
    return html`
      <${Crumb} base=${base} section=${`webhooks${location.search}`} name="Webhooks" />
      <${PageHead} title="Delivery" aside=${actions}><p class="sub mono break">${item}</p><//>
      <${Card}><${Facts} pairs=${[
        ['State', html`<${StateBadge} of="delivery" state=${state} />`],
        ['Next attempt', nextAttemptAt && html`<${Time} at=${nextAttemptAt} />`],
        ['Receiver', html`<span class="mono">${callbackUrl}</span>`],
        ['Check', isOfCheck(payload) && check],
      ]} /><//>
      <${Card} title="Attempts">
        ${attempts.length === 0 && html`<${Empty} title="None yet"><p>It waits for its first attempt.</p><//>`}
        <ol class="attempts">${attempts.toReversed().map(
          (attempt) => html`<li key=${`${attempt.attempt}/${attempt.at}`}>
            <p class="row-title"><${Badge} tone=${attempt.class === 'delivered' || is2xx(attempt.status) ? 'good' : 'bad'}>${attempt.status ?? 'No answer'}<//> Attempt ${attempt.attempt}</p>
            <p class="sub facts"><span>${formatMinute(attempt.at)}</span><span>${formatMs(attempt.durationMs)}</span><span>${wordsOfAttempt({ class: attempt.class })}</span></p>
            ${attempt === lastAnswered && html`<${OnDemand} action="Show the answer"><${KeptAnswer} params=${params} /><//>`}
          </li>`,
        )}</ol>
      <//>
      <${SentRequest} requestId=${item} payload=${payload} attempt=${attempts.at(-1)} />`;
  });
}

/** Events of batches, watches and tests say their type; the result of a check has none. */
const isOfCheck = (payload) => payload !== undefined && JSON.parse(payload).type === undefined;

const is2xx = (status = 0) => status >= 200 && status < 300;

const KeptAnswer = ({ params }) =>
  loaded(useResource('GET /api/apps/:clientId/deliveries/:requestId/answer', params), ({ answer }) =>
    answer === undefined
      ? html`<p class="sub" role="status">It was empty, or is not kept: answers are kept for 30 days unless the operator has changed that, and not once the account has used its bytes of the day.</p>`
      : html`<pre class="code" tabindex="0" aria-label="Answer of the receiver">${answer}</pre>`,
  );

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
  ${attempt && html`<${Card} title=${`Headers of attempt ${attempt.attempt}`}><${Facts} class="mono" pairs=${headersOf(requestId, attempt)} /><//>`}
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
