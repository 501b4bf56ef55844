import { formatMs } from '../../lib/format.js';
import { html, useState, when } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { useApp } from '../../lib/session.js';
import { Code, JsonView } from '../../ui/copy.js';
import { Card, Crumb, loaded, PageHead, refreshButton } from '../../ui/page.js';
import { Badge, Facts, rows, StateBadge, Table, Time } from '../../ui/values.js';
import { nameOfKey } from '../apps/keys.js';
import { Missing } from '../frame/frame.js';
import { fragmentOf } from '../try/check-address.js';
import { numberOf, roleIdsOf } from '../try/describe-detail.js';
import { Why } from '../try/why.js';
import { drawOutcomes } from './checks.js';

/** @import { CheckResult } from '#shared/contracts/checks/result.ts' */
/** @import { Answer } from '../../lib/types.ts' */
/** @typedef {Answer<'GET /api/apps/:clientId/checks/:requestId'>['steps']} Steps */

/** The words for each step; those of the previous step end there. @type {Record<string, string>} */
const STEPS = {
  started: 'Waited for its evaluation',
  evaluated: 'Evaluated',
  stored: 'Stored',
  delivered: 'Delivered',
};
/** A bar that is shorter cannot be seen. */
const SHARE_MIN = 0.004;

/** One check: its outcome, its unreadable rules, its result and its webhook. */
export function Check({ item }) {
  const { app, clientId, base } = useApp();
  const check = useResource('GET /api/apps/:clientId/checks/:requestId', { clientId, requestId: item });
  if (check.error?.status === 404) return html`<${Missing} />`;
  /** A key that is no longer listed is shown by its id. */
  const nameOf = (keyId) => {
    const key = app.keys.find((one) => one.keyId === keyId);
    return key ? nameOfKey(key) : html`<code>${keyId}</code>`;
  };
  return html`
    <${Crumb} base=${base} section=${`checks${location.search}`} name="Checks" />
    <${PageHead} title="Check" aside=${refreshButton(check)}>
      <p class="sub mono break">${item}</p>
    <//>
    ${loaded(
      check,
      (data) => html`
      <${Card}><${Facts} pairs=${[
        ['Status', html`<${StateBadge} of="check" state=${data.status} />`],
        ['Rules', html`<span class="facts">${drawOutcomes(data)}</span>`],
        ['Mode', data.mode],
        ['API key', when(data.keyId, nameOf)],
        ['Accepted', html`<${Time} at=${data.acceptedAt} />`],
        [
          'Webhook',
          when(data.delivery, ({ state }) => html`<${DeliveryLink} requestId=${item} state=${state} />`),
        ],
      ]} /><//>
      ${data.steps.length > 1 && html`<${Card} title="Steps"><${CheckSteps} steps=${data.steps} /><//>`}
      ${when(data.result, (result) => html`<${Result} result=${result} />`) ?? html`<${Card} title="Result"><p class="prose">The result has expired.</p><//>`}
      <${SendAgain} requestId=${item} />
    `,
    )}
  `;
}

/** The state of the webhook of a check or a batch. */
export const DeliveryLink = ({ requestId, state }) =>
  html`<a href=${`${useApp().base}/webhooks/${encodeURIComponent(requestId)}`}>Attempts</a> <${StateBadge} of="delivery" state=${state} />`;

export const adviceOf = (retryable) =>
  retryable ? 'Another try may decide it.' : 'Another try will not decide it: correct the rule.';

const adviceOnWallet = (retryable) =>
  retryable ? 'Another try may prove it.' : 'Another try will not prove it.';

/** @param {CheckResult['errors'][number]} fault */
const titleOf = (fault) =>
  'account' in fault
    ? html`Sign-in of <code class="break">${fault.account}</code>`
    : html`Rule ${numberOf(fault.path ?? `/rules/${fault.ruleIndex}`)}, role <code>${fault.roleId}</code>`;

/** @param {{ result: CheckResult }} props */
const Result = ({ result }) => html`
  ${
    result.errors.length > 0 &&
    html`<${Card} title="Could not be read">${rows(
      result.errors,
      null,
      (fault) => html`<li key=${'account' in fault ? fault.account : (fault.path ?? fault.ruleIndex)}>
        <div class="grow"><p class="row-title">${titleOf(fault)}</p><p class="sub">${fault.message}</p></div>
        <div class="badges"><${Badge} tone=${fault.retryable ? 'warn' : 'bad'}>${fault.code}<//></div>
        <p class="sub">${'account' in fault ? adviceOnWallet(fault.retryable) : adviceOf(fault.retryable)}</p>
      </li>`,
      'inner',
    )}<//>`
  }
  ${
    result.details
      ? html`<${Card} title="Why"><${Why} details=${result.details} roleIds=${roleIdsOf(result)} blocks=${result.blocks} /><//>`
      : html`<${Card} title="Why"><p class="prose">A check with <code>"explain": true</code> is shown with the amounts that were compared. Send it again
          in <em>Try it</em> to see them.</p><//>`
  }
  <${Card} title="Result"><${JsonView} value=${result} label="Result" /><//>`;

/** How long each step of a check took, as a table with bars. @param {{ steps: Steps }} props */
function CheckSteps({ steps }) {
  const totalMs = Math.max(1, steps.at(-1)?.afterMs ?? 0);
  return html`<${Table} label="Durations of the steps" class="steps-table" heads=${['Step', '#Took', '#After acceptance', '']}>
    ${steps.slice(1).map(({ name, afterMs }, place) => {
      const fromMs = Math.min(steps[place]?.afterMs ?? 0, afterMs);
      return html`<tr key=${name}>
        <th scope="row">${STEPS[name] ?? name}</th>
        <td class="number">${formatMs(afterMs - fromMs)}</td>
        <td class="number">${formatMs(afterMs)}</td>
        <td class="bar-cell"><div class="bar" style=${{
          marginLeft: `${(fromMs / totalMs) * 100}%`,
          width: `${Math.max(SHARE_MIN, (afterMs - fromMs) / totalMs) * 100}%`,
        }}></div></td>
      </tr>`;
    })}
  <//>`;
}

/** The request of a check, to be sent again. It is read on demand: that takes the broker a
 * moment. */
function SendAgain({ requestId }) {
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
  const { clientId, base, may } = useApp();
  const request = useResource('GET /api/apps/:clientId/checks/:requestId/request', { clientId, requestId });
  if (request.error?.status === 404) return html`<p class="prose" role="status">${request.error.message}</p>`;
  return loaded(request, ({ body, curl }) => {
    const note = html`<span>As curl, with the key in <code>ROLECALL_API_KEY</code></span>`;
    const fragment = may('tryCheck') && fragmentOf(body);
    return html`<${Code} note=${note} text=${curl} what="Request" label="Request as curl" class="wrap" />
      <details><summary>Request as JSON</summary><${JsonView} value=${body} label="Request as JSON" /></details>
      ${fragment && html`<div class="actions"><a class="button" href=${`${base}/try${fragment}`}>Open in Try it</a></div>`}`;
  });
}
