import { ask } from '../../lib/api.js';
import { formatDate, formatMs, formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { usePages } from '../../lib/resources.js';
import { useQuery } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import {
  Field,
  FilterField,
  FormDialog,
  instantOf,
  MakeSecrets,
  Overlap,
  options,
  SendForm,
  useDialog,
} from '../../ui/form.js';
import { Card, Empty, PageHead, refreshButton } from '../../ui/page.js';
import { Badge, pagedRows, rows, STATES, StateBadge, Time } from '../../ui/values.js';
import { wordsOfAttempt } from './delivery.js';

/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/deliveries'>['deliveries'][number]} DeliverySummary */

const HOUR_MS = 3_600_000;
const SPANS = /** @type {const} */ ([
  [1, 'the last hour'],
  [24, 'the last 24 hours'],
  [72, 'the last 3 days'],
  [720, 'the last 30 days'],
]);

/** Webhooks: the secret that signs them, a test event, and every delivery. */
export function Deliveries() {
  const { clientId, base, may } = useApp();
  const query = useQuery({ state: '', since: '' });
  const [{ state, since }] = query;
  const deliveries = usePages('GET /api/apps/:clientId/deliveries', { clientId }, 'deliveries', 'before', {
    state,
    since: instantOf(since),
  });
  const [dialog, open] = useDialog(deliveries.first.reload);
  const resendFailed = () => {
    // Fixed when the form is opened: a second try must send the very same.
    const openedAtMs = Date.now();
    const send = ({ hours }, idempotencyKey) => {
      const body = { since: new Date(openedAtMs - Number(hours) * HOUR_MS).toISOString() };
      return ask('POST /api/apps/:clientId/deliveries/resend-failed', {
        params: { clientId },
        body,
        idempotencyKey,
      });
    };
    open(html`<${FormDialog} title="Resend failed deliveries" submit="Resend" send=${send}
        said=${({ count }) =>
          count === 0
            ? 'No failed delivery since then'
            : `${formatPlural(count, 'delivery', 'deliveries')} will be sent again`}>
        <p class="prose">Every delivery that is exhausted or was stopped by a 410 is sent again with the same id and body.
          Your receiver should ignore ids it has handled.</p>
        <${Field} label="Failed within" as="select" name="hours" pointer="/since">${options(SPANS, 24)}<//>
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
        <${FilterField} query=${query} label="State" name="state" choices=${Object.entries(STATES.delivery).map(([value, [, text]]) => [value, text])} />
        <${FilterField} query=${query} label="Since" type="datetime-local" name="since" required />
      </div>
      ${pagedRows(deliveries, empty, (one) => drawDelivery(one, base), 'inner')}
    <//>
    ${dialog}
  `;
}

/** @param {DeliverySummary} delivery */
const drawDelivery = ({ requestId, state, callbackUrl, attempts, lastAttempt }, base) => html`<li
  key=${requestId}>
  <div class="grow">
    <a class="row-link mono" href=${`${base}/webhooks/${encodeURIComponent(requestId)}${location.search}`}>${requestId}</a>
    <p class="sub clip" title=${callbackUrl}>${callbackUrl}</p>
  </div>
  <div class="badges"><${StateBadge} of="delivery" state=${state} /></div>
  <p class="sub facts">
    <span>${formatPlural(attempts, 'attempt')}</span>
    ${
      lastAttempt &&
      html`<span>${wordsOfAttempt(lastAttempt)} in ${formatMs(lastAttempt.durationMs)}</span>
        <span><${Time} at=${lastAttempt.at} /></span>`
    }
  </p>
</li>`;

/** The secrets that sign now, and how to replace them. */
function SigningSecret() {
  const { app, clientId, reload, may } = useApp();
  const [dialog, open] = useDialog(reload);
  const send = ({ overlapHours }, idempotencyKey) => {
    const body = { overlapHours: Number(overlapHours) };
    return ask('POST /api/apps/:clientId/secret/rotate', { params: { clientId }, body, idempotencyKey });
  };
  const rotate = () =>
    open(html`<${MakeSecrets} title="Rotate the signing secret" submit="Rotate secret" send=${send}
        show=${({ webhookSecret }) => ({
          title: 'Your new signing secret',
          secrets: [['Webhook secret', webhookSecret]],
        })}>
        <p class="prose">During the overlap every message carries two signatures, so that a receiver with either secret
          verifies it.</p>
        <${Overlap} label="The old secret stops signing" />
      <//>`);
  return html`<${Card} title="Signing secret"
    aside=${may('rotateSecret') && html`<button type="button" onClick=${rotate}>Rotate…</button>`}>
    ${rows(
      app.secrets,
      null,
      ({ createdAt, expiresAt }) => html`<li key=${createdAt}>
        <div class="grow"><code>whsec_••••••••</code> ${expiresAt ? html`<${Badge} tone="warn">Ends <${Time} at=${expiresAt} /><//>` : html`<${Badge} tone="good">Current<//>`}</div>
        <p class="sub facts">Since ${formatDate(createdAt)}</p>
      </li>`,
      'inner',
    )}
    <p class="hint">Each message is signed with every secret that is listed. <a href="/docs/webhooks">How to verify</a></p>
    ${dialog}
  <//>`;
}

/** Sends a signed message without a check behind it. */
function TestEvent({ onSent }) {
  const { clientId, base } = useApp();
  const [sent, setSent] = useState('');
  const done = ({ requestId }) => {
    setSent(requestId);
    onSent();
  };
  return html`<${Card} title="Test event">
    <${SendForm} submit="Send test event" label="Test event" onDone=${done}
      send=${(body, idempotencyKey) => ask('POST /api/apps/:clientId/test-event', { params: { clientId }, body, idempotencyKey })}>
      <${Field} label="Callback URL" name="callbackUrl" type="url" inputmode="url" required maxlength="2048"
        placeholder="https://example.com/hooks/rolecall" hint="A signed example message; one every 20 seconds at most." />
    <//>
    ${
      sent &&
      html`<p class="notice good" role="status">On its way:${' '}
        <a class="mono" href=${`${base}/webhooks/${encodeURIComponent(sent)}`}>${sent}</a></p>`
    }
  <//>`;
}
