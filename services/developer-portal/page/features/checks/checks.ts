import type { CheckResult } from '#shared/contracts/checks/result.ts';
import type { Answer } from '../../lib/api.ts';
import { formatMs, instantOf } from '../../lib/format.ts';
import { html } from '../../lib/html.ts';
import { usePages, useResource } from '../../lib/resources.ts';
import { useQuery } from '../../lib/router.ts';
import { useApp } from '../../lib/session.ts';
import { Code, JsonView } from '../../ui/copy.ts';
import { FilterField } from '../../ui/form.ts';
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
import { Badge, choicesOf, Facts, StateBadge, Table, Time } from '../../ui/values.ts';
import { nameOfKey, nameOfKeyId } from '../apps/keys.ts';
import { fragmentOf } from '../try/check-address.ts';
import { numberOf, roleIdsOf } from '../try/describe-detail.ts';
import { Why } from '../try/why.ts';

type CheckSummary = Answer<'GET /api/apps/:clientId/checks'>['checks'][number];

const FILTERS = { requestId: '', roleId: '', keyId: '', mode: '', status: '', outcome: '', since: '' };
const MODES = Object.entries({ sync: 'Sync', poll: 'Poll', webhook: 'Webhook' });
const OUTCOMES = [
  ['granted', 'Granted'],
  ['denied', 'Denied'],
  ['undetermined', 'Undetermined'],
] as const;

/** How many rules ended how; outcomes without a rule are left out. */
const drawOutcomes = (check: CheckSummary) =>
  OUTCOMES.filter(([outcome]) => check[outcome] > 0).map(
    ([outcome]) => html`<span key=${outcome}>${check[outcome]} ${outcome}</span>`,
  );

export function Checks() {
  const { app, clientId, base, may } = useApp();
  const query = useQuery(FILTERS);
  const [filters] = query;
  const checks = usePages('GET /api/apps/:clientId/checks', { clientId }, 'checks', {
    ...filters,
    since: instantOf(filters.since),
  });
  const empty = html`<${Empty} title="No checks"><p>${
    Object.values(filters).some(Boolean)
      ? 'None matches these filters.'
      : html`Send a check with one of the app's keys${may('tryCheck') && html`, or <a href=${`${base}/try`}>try one here</a>`}.`
  }</p><//>`;
  return html`
    <${PageHead} title="Checks" aside=${refreshButton(checks.first)}>
      <p class="sub">The newest 1 000 checks of this app. A check appears once it has a result. The role filter
        searches the first 32 roles of a check.</p>
    <//>
    <${Card}>
      <div class="filters">
        <${FilterField} query=${query} label="Request id" name="requestId" maxlength="64" />
        <${FilterField} query=${query} label="Role id" name="roleId" maxlength="128" />
        <${FilterField} query=${query} label="API key" name="keyId" choices=${app.keys.map((key) => [key.keyId, nameOfKey(key)])} />
        <${FilterField} query=${query} label="Mode" name="mode" choices=${MODES} />
        <${FilterField} query=${query} label="Status" name="status" choices=${choicesOf('check')} />
        <${FilterField} query=${query} label="Outcome" name="outcome" choices=${OUTCOMES} />
        <${FilterField} query=${query} label="Since" type="datetime-local" name="since" />
      </div>
      <${Paged} of=${checks} empty=${empty}><ul class="rows inner">${checks.rows.map(
        (check) => html`<li key=${check.requestId}>
          <div class="grow">
            <a class="row-link mono" href=${`${base}/checks/${encodeURIComponent(check.requestId)}${location.search}`}>${check.requestId}</a>
            <p class="sub facts"><span>${check.mode}</span>${drawOutcomes(check)}${check.codes.map((code) => html`<code key=${code}>${code}</code>`)}</p>
          </div>
          <div class="badges"><${StateBadge} of="check" state=${check.status} /></div>
          <p class="sub facts"><span>${formatMs(check.durationMs)}</span><span><${Time} at=${check.acceptedAt} /></span></p>
        </li>`,
      )}</ul><//>
    <//>
  `;
}

/** The words for each step; those of the previous step end there. */
const STEPS: Record<string, string> = {
  started: 'Waited for its evaluation',
  evaluated: 'Evaluated',
  stored: 'Stored',
  delivered: 'Delivered',
};
/** A bar that is shorter cannot be seen. */
const SHARE_MIN = 0.004;

export function Check({ item }) {
  const { app, clientId, base } = useApp();
  const check = useResource('GET /api/apps/:clientId/checks/:requestId', { clientId, requestId: item });
  return loadedPage(check, 'Check', (data) => {
    const { keyId, delivery } = data;
    const webhook = delivery && html`<${DeliveryLink} requestId=${item} state=${delivery.state} />`;
    return html`
      <${Crumb} base=${base} section=${`checks${location.search}`} name="Checks" />
      <${PageHead} title="Check" aside=${refreshButton(check)}><p class="sub mono break">${item}</p><//>
      <${Card}><${Facts} pairs=${[
        ['Status', html`<${StateBadge} of="check" state=${data.status} />`],
        ['Rules', html`<span class="facts">${drawOutcomes(data)}</span>`],
        ['Mode', data.mode],
        ['API key', keyId && nameOfKeyId(app, keyId)],
        ['Accepted', html`<${Time} at=${data.acceptedAt} />`],
        ['Webhook', webhook],
      ]} /><//>
      ${data.steps.length > 1 && html`<${Card} title="Steps"><${CheckSteps} steps=${data.steps} /><//>`}
      ${data.result ? html`<${Result} result=${data.result} />` : html`<${Card} title="Result"><p class="prose">The result has expired.</p><//>`}
      <${SendAgain} requestId=${item} />`;
  });
}

export const DeliveryLink = ({ requestId, state }) =>
  html`<a href=${`${useApp().base}/webhooks/${encodeURIComponent(requestId)}`}>Attempts</a> <${StateBadge} of="delivery" state=${state} />`;

export const adviceOf = (retryable) =>
  retryable ? 'Another try may decide it.' : 'Another try will not decide it: correct the rule.';

const adviceOnWallet = (retryable) =>
  retryable ? 'Another try may prove it.' : 'Another try will not prove it.';

const titleOf = (fault: CheckResult['errors'][number]) =>
  'account' in fault
    ? html`Sign-in of <code class="break">${fault.account}</code>`
    : html`Rule ${numberOf(fault.path ?? `/rules/${fault.ruleIndex}`)}, role <code>${fault.roleId}</code>`;

/** What an answer's `errors` say: rules that could not be read, and wallets that are not proved. */
export const Unread = ({ errors }: Pick<CheckResult, 'errors'>) =>
  html`<ul class="rows inner">${errors.map(
    (fault) => html`<li key=${'account' in fault ? fault.account : (fault.path ?? fault.ruleIndex)}>
    <div class="grow"><p class="row-title">${titleOf(fault)}</p><p class="sub">${fault.message}</p></div>
    <div class="badges"><${Badge} tone=${fault.retryable ? 'warn' : 'bad'}>${fault.code}<//></div>
    <p class="sub">${'account' in fault ? adviceOnWallet(fault.retryable) : adviceOf(fault.retryable)}</p>
  </li>`,
  )}</ul>`;

const Result = ({ result }: { result: CheckResult }) => html`
  ${result.errors.length > 0 && html`<${Card} title="Could not be read"><${Unread} errors=${result.errors} /><//>`}
  ${
    result.details
      ? html`<${Card} title="Why"><${Why} details=${result.details} roleIds=${roleIdsOf(result)} blocks=${result.blocks} /><//>`
      : html`<${Card} title="Why"><p class="prose">A check with <code>"explain": true</code> is shown with the amounts that were compared. Send it again
          in <em>Try it</em> to see them.</p><//>`
  }
  <${Card} title="Result"><${JsonView} value=${result} label="Result" /><//>`;

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

const SendAgain = ({ requestId }) => html`<${Card} title="Send again">
  <p class="prose">The rules and options of this check, as a command and for <em>Try it</em>. Requests are kept for 7 days.</p>
  <${OnDemand} action="Show the request"><${SentCheck} requestId=${requestId} /><//>
<//>`;

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
