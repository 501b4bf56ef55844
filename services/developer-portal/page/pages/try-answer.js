import { formatMs } from '../core/format.js';
import { html, useEffect, useRef } from '../core/html.js';
import { CopyButton } from '../parts/copy.js';
import { JsonView } from '../parts/json-view.js';
import { Badge, Card } from '../parts/states.js';

/** What a tried check gave: the verdicts at a glance, then request and answer as they were. */
export function TryAnswer({ answer: { status, headers, body, durationMs, curl } }) {
  const ref = useRef(null);
  // Below a long form the answer would not be seen.
  useEffect(() => ref.current.closest('.card').scrollIntoView({ block: 'start' }), []);
  const isGood = status >= 200 && status < 300;
  return html`
    <${Card} title="Answer" aside=${html`<${Badge} tone=${isGood ? 'good' : 'bad'}>${status}<//> <span class="sub">${formatMs(durationMs)}</span>`}>
      <div role="status" ref=${ref}><${Verdicts} body=${body} /></div>
      <${JsonView} value=${body} label="Answer as JSON" />
      <details><summary>Headers</summary><dl class="facts-list headers">${Object.entries(headers).map(
        ([name, value]) =>
          html`<div key=${name}><dt><code>${name}</code></dt><dd class="mono break">${value}</dd></div>`,
      )}</dl></details>
    <//>
    <${Card} title="Request" aside=${html`<${CopyButton} text=${curl} what="Request" />`}>
      <pre class="code wrap" tabindex="0" aria-label="Request as curl">${curl}</pre>
    <//>
  `;
}

/** One chip per rule; a problem's own words where there is none. */
function Verdicts({ body }) {
  const roles = Array.isArray(body?.roles) ? body.roles : [];
  const open = Array.isArray(body?.errors) ? body.errors.filter(({ roleId }) => roleId !== undefined) : [];
  if (roles.length + open.length === 0)
    return body?.detail ? html`<p class="prose">${String(body.detail)}</p>` : null;
  return html`<ul class="verdicts">
    ${roles.map(({ id, granted }) => html`<li><span class="break">${id}</span><strong class=${granted ? 'granted' : 'denied'}>${granted ? 'granted' : 'denied'}</strong></li>`)}
    ${open.map(({ roleId, code }) => html`<li><span class="break">${roleId}</span><strong class="undetermined">undetermined</strong> <code>${code}</code></li>`)}
  </ul>`;
}
