import { formatPlural } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { useQuery } from '../../lib/router.js';
import { useApp } from '../../lib/session.js';
import { useResource } from '../../lib/use-resource.js';
import { PageHead } from '../../ui/page-head.js';
import { Badge, Card, Empty, Loaded, Time } from '../../ui/states.js';
import { NEW } from './rule-set.js';

/** The stored rule sets of the app, by id. */
export function RuleSets() {
  const { app, api, base, may } = useApp();
  const [{ after }, setQuery] = useQuery({ after: '' });
  const resource = useResource(`${api}/rule-sets${after ? `?after=${encodeURIComponent(after)}` : ''}`);
  return html`
    <${PageHead} title="Rule sets" aside=${may('putRuleSet') && html`<a class="button primary" href=${`${base}/rule-sets/${NEW}`}>New rule set</a>`}>
      <p class="sub">Rules stored under an id. A check names them by <code>ruleSet</code> instead of <code>rules</code>.</p>
    <//>
    ${
      app.scope.state !== 'approved' &&
      html`<p class="notice warn">Rule sets can be stored once the scope is approved. <a href=${`${base}/scope`}>Request the scope</a></p>`
    }
    <${Card}><${Loaded} resource=${resource}>${({ ruleSets, next }) => html`
      ${
        ruleSets.length === 0
          ? html`<${Empty} title="No rule sets yet"><p>Store the rules of your roles once, and every check may name them.</p><//>`
          : html`<ul class="rows">${ruleSets.map((data) => html`<${Row} key=${data.ruleSetId} data=${data} base=${base} />`)}</ul>`
      }
      <div class="actions">
        ${after && html`<button type="button" onClick=${() => setQuery({ after: '' })}>First page</button>`}
        ${next && html`<button type="button" onClick=${() => setQuery({ after: next })}>Next page</button>`}
      </div>
    `}<//><//>
  `;
}

const Row = ({ data: { ruleSetId, version, name, ruleCount, updatedAt }, base }) => html`<li>
  <div class="grow">
    <p class="row-title break"><a href=${`${base}/rule-sets/${encodeURIComponent(ruleSetId)}`}>${ruleSetId}</a></p>
    <p class="sub break">${name && `${name} · `}${formatPlural(ruleCount, 'rule')} · changed <${Time} at=${updatedAt} /></p>
  </div>
  <div class="badges"><${Badge}>Version ${version}<//></div>
</li>`;
