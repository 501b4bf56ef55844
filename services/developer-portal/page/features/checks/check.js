import { html } from '../../lib/html.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { JsonView } from '../../ui/json-view.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Loaded, Time } from '../../ui/states.js';
import { StateBadge } from '../deliveries/deliveries.js';
import { Missing } from '../frame/missing.js';
import { numberOf } from '../try/describe-detail.js';
import { CheckSteps } from './check-steps.js';
import { nameOfKey, Outcomes, StatusBadge } from './checks.js';
import { SendAgain } from './send-again.js';

/** One check: its outcome, its unreadable rules, its result and its webhook. */
export function Check({ item }) {
  const { app, api, base } = useApp();
  const check = useResource(`${api}/checks/${encodeURIComponent(item)}`);
  if (check.error?.status === 404) return html`<${Missing} />`;
  return html`
    <p class="crumbs"><a href=${`${base}/checks${location.search}`}>← Checks</a></p>
    <${PageHead} title="Check" aside=${html`<button type="button" onClick=${check.reload}>Refresh</button>`}>
      <p class="sub mono break">${item}</p>
    <//>
    <${Loaded} resource=${check}>${(data) => html`
      <${Card}><dl class="facts-list">
        <div><dt>Status</dt><dd><${StatusBadge} status=${data.status} /></dd></div>
        <div><dt>Rules</dt><dd class="facts"><${Outcomes} check=${data} /></dd></div>
        <div><dt>Mode</dt><dd>${data.mode}</dd></div>
        ${data.keyId && html`<div><dt>API key</dt><dd>${keyOf(app, data.keyId)}</dd></div>`}
        <div><dt>Accepted</dt><dd><${Time} at=${data.acceptedAt} /></dd></div>
        ${
          data.delivery &&
          html`<div><dt>Webhook</dt><dd><a href=${`${base}/webhooks/${encodeURIComponent(item)}`}>Attempts</a> <${StateBadge} state=${data.delivery.state} /></dd></div>`
        }
      </dl><//>
      ${data.steps.length > 1 && html`<${Card} title="Steps"><${CheckSteps} steps=${data.steps} /><//>`}
      ${data.result ? html`<${Result} result=${data.result} />` : html`<${Card} title="Result"><p class="prose">The result has expired.</p><//>`}
      <${SendAgain} requestId=${item} />
    `}<//>
  `;
}

/** A key that is no longer listed is shown by its id. */
const keyOf = ({ keys }, keyId) => {
  const key = keys.find((one) => one.keyId === keyId);
  return key ? nameOfKey(key) : html`<code>${keyId}</code>`;
};

const Result = ({ result }) => html`
  ${
    result.errors.length > 0 &&
    html`<${Card} title="Could not be read">
      <ul class="rows inner">${result.errors.map(
        ({
          ruleIndex,
          path = `/rules/${ruleIndex}`,
          roleId,
          code,
          message,
          retryable,
        }) => html`<li key=${path}>
          <div class="grow"><p class="row-title">Rule ${numberOf(path)}, role <code>${roleId}</code></p><p class="sub">${message}</p></div>
          <div class="badges"><${Badge} tone=${retryable ? 'warn' : 'bad'}>${code}<//></div>
          <p class="sub">${retryable ? 'Another try may decide it.' : 'Another try will not decide it: correct the rule.'}</p>
        </li>`,
      )}</ul>
    <//>`
  }
  <${Card} title="Result"><${JsonView} value=${result} label="Result" /><//>`;
