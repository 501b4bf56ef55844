import { html } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { CopyButton } from '../../ui/copy.js';
import { JsonView } from '../../ui/json-view.js';
import { Card } from '../../ui/states.js';
import { headersOf, verifyCommand } from './webhook-headers.js';

/** The document that was sent, its headers, and how to compute the signature. */
export function SentRequest({ requestId, payload, attempts }) {
  const last = attempts.at(-1);
  return html`<${Payload} payload=${payload} />
    ${last && html`<${Headers} requestId=${requestId} attempt=${last} />`}
    ${last && payload !== undefined && html`<${Signature} requestId=${requestId} attempt=${last} />`}`;
}

const Payload = ({ payload }) => html`<${Card} title="Payload"
  aside=${payload !== undefined && html`<${CopyButton} text=${payload} what="Payload" />`}>
  ${
    payload === undefined
      ? html`<p class="prose">The payload has expired.</p>`
      : html`<p class="prose">Indented for reading. <em>Copy</em> copies the bytes as they are sent and signed,
          the same on every attempt.</p>
        <${JsonView} value=${JSON.parse(payload)} label="Payload" />`
  }
<//>`;

const Headers = ({ requestId, attempt }) => html`<${Card} title=${`Headers of attempt ${attempt.attempt}`}>
  <dl class="facts-list">${headersOf(requestId, attempt).map(
    ([name, value]) =>
      html`<div key=${name}><dt class="mono">${name}</dt><dd class="mono break">${value}</dd></div>`,
  )}</dl>
<//>`;

function Signature({ requestId, attempt }) {
  const { base } = useApp();
  const command = verifyCommand(requestId, attempt);
  return html`<${Card} title="Verify the signature">
    <p class="prose">The portal shows no signature, because it does not decrypt your secret. Copy the payload into
      ${' '}<code>payload.json</code> and put your secret into the first line: the last line prints the signature
      of attempt ${attempt.attempt}. <a href=${`${base}/snippets`}>Snippets</a> has the code for your receiver.</p>
    <div class="code-head"><code>sh, openssl</code><${CopyButton} text=${command} what="Commands" /></div>
    <pre class="code" tabindex="0" aria-label="Commands that compute the signature">${command}</pre>
  <//>`;
}
