import { html, useState } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { CopyButton } from '../../ui/copy.js';
import { JsonView } from '../../ui/json-view.js';
import { Card, Loaded } from '../../ui/states.js';
import { fragmentOf } from '../try/check-address.js';

/** The request of a check, to be sent again. It is read on demand: that takes the broker a moment. */
export function SendAgain({ requestId }) {
  const [isWanted, setIsWanted] = useState(false);
  return html`<${Card} title="Send again">
    ${
      isWanted
        ? html`<${SentCheck} requestId=${requestId} />`
        : html`<p class="prose">The rules and options of this check, as a command and for <em>Try it</em>. Requests are kept for 7 days.</p>
          <div class="actions"><button type="button" onClick=${() => setIsWanted(true)}>Show the request</button></div>`
    }
  <//>`;
}

function SentCheck({ requestId }) {
  const { api, base, may } = useApp();
  const request = useResource(`${api}/checks/${encodeURIComponent(requestId)}/request`);
  if (request.error?.status === 404) return html`<p class="prose" role="status">${request.error.message}</p>`;
  return html`<${Loaded} resource=${request}>${({ body, curl }) => {
    const fragment = fragmentOf(body);
    return html`<div class="code-head"><span>As curl, with the key in <code>ROLECALL_API_KEY</code></span><${CopyButton} text=${curl} what="Request" /></div>
      <pre class="code wrap" tabindex="0" aria-label="Request as curl">${curl}</pre>
      <details><summary>Request as JSON</summary><${JsonView} value=${body} label="Request as JSON" /></details>
      ${fragment && may('tryCheck') && html`<div class="actions"><a class="button" href=${`${base}/try${fragment}`}>Open in Try it</a></div>`}`;
  }}<//>`;
}
