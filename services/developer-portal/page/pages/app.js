import { html, useLayoutEffect, useRef } from '../core/html.js';
import { CurrentApp } from '../core/session.js';
import { useResource } from '../core/use-resource.js';
import { Identifier } from '../parts/copy.js';
import { Badge, Loaded, ScopeBadge } from '../parts/states.js';
import { Activity } from './app-activity.js';
import { Batch } from './app-batch.js';
import { Batches } from './app-batches.js';
import { Check } from './app-check.js';
import { Checks } from './app-checks.js';
import { Deliveries } from './app-deliveries.js';
import { Delivery } from './app-delivery.js';
import { Keys } from './app-keys.js';
import { Overview } from './app-overview.js';
import { Quickstart } from './app-quickstart.js';
import { RuleSet } from './app-rule-set.js';
import { RuleSets } from './app-rule-sets.js';
import { Scope } from './app-scope.js';
import { Settings } from './app-settings.js';
import { Snippets } from './app-snippets.js';
import { Team } from './app-team.js';
import { Try } from './app-try.js';
import { Watch } from './app-watch.js';
import { Watches } from './app-watches.js';
import { Missing } from './missing.js';
import { NotAllowed } from './not-allowed.js';

/** The app's pages in the order of the menu: path, name, component, component of one item, the operation that it is for. */
const SECTIONS = [
  ['', 'Overview', Overview],
  ['quickstart', 'Quickstart', Quickstart, undefined, 'createKey'],
  ['keys', 'API keys', Keys],
  ['rule-sets', 'Rule sets', RuleSets, RuleSet],
  ['checks', 'Checks', Checks, Check],
  ['batches', 'Batches', Batches, Batch],
  ['watches', 'Watches', Watches, Watch],
  ['webhooks', 'Webhooks', Deliveries, Delivery],
  ['scope', 'Scope', Scope],
  ['try', 'Try it', Try, undefined, 'tryCheck'],
  ['snippets', 'Snippets', Snippets],
  ['team', 'Team', Team],
  ['activity', 'Activity', Activity],
  ['settings', 'Settings', Settings],
];

/** An older server names no operations: then it alone refuses. */
const mayIn =
  ({ operations }) =>
  (operation) =>
    operations?.includes(operation) ?? true;
const isShown = ([, , , , needed], may) => needed === undefined || may(needed);

/** One client app: its head, its menu and the selected page. */
export function App({ id, section = '', item }) {
  const base = `/apps/${encodeURIComponent(id)}`;
  const resource = useResource(`/api${base}`);
  const found = SECTIONS.find(([path]) => path === section);
  const Page = item === undefined ? found?.[2] : found?.[3];
  if (!Page || resource.error?.status === 404) return html`<${Missing} />`;
  return html`<${Loaded} resource=${resource} title="App">${(app) => {
    const may = mayIn(app);
    return html`<${CurrentApp.Provider} value=${{ app, base, api: `/api${base}`, reload: resource.reload, may }}>
    <div class="app-head">
      <p class="crumbs"><a href="/apps">Apps</a><span aria-hidden="true">/</span><a href=${base}>${app.name}</a></p>
      <div class="badges"><${Identifier} value=${app.clientId} what="Client ID" />
        ${app.role !== 'owner' && html`<${Badge}>You: ${app.role}<//>`}
        ${app.suspended && html`<${Badge} tone="bad">Suspended<//>`}
        ${app.scope.state !== 'approved' && html`<${ScopeBadge} state=${app.scope.state} />`}
      </div>
    </div>
    ${
      app.suspended &&
      html`<p class="notice bad">An operator has suspended this app: its checks are answered with 403. Please write to
        the operator of this service.</p>`
    }
    ${app.role === 'viewer' && html`<p class="notice">You are a viewer of this app: you can see everything, but change nothing.</p>`}
    <div class="app-body">
      <${Menu} label=${`Pages of ${app.name}`} base=${base} section=${section}
        entries=${SECTIONS.filter((one) => isShown(one, may))} />
      <div class="app-page">${
        isShown(found, may)
          ? html`<${Page} key=${`${section}/${item}`} item=${item} />`
          : html`<${NotAllowed} title=${found[1]} />`
      }</div>
    </div>
  <//>`;
  }}<//>`;
}

/** On a narrow screen it is a strip that is wider than the screen: the current page's name is brought into sight. */
function Menu({ label, base, section, entries }) {
  const strip = useRef(null);
  useLayoutEffect(() => {
    const { current: nav } = strip;
    const link = nav.querySelector('[aria-current]');
    if (link)
      nav.scrollLeft +=
        link.getBoundingClientRect().right - nav.getBoundingClientRect().right + link.offsetWidth / 2;
  }, [section]);
  return html`<nav ref=${strip} class="side" aria-label=${label}>
    ${entries.map(
      ([path, name]) => html`<a key=${path} href=${path ? `${base}/${path}` : base}
        aria-current=${path === section ? 'page' : undefined}>${name}</a>`,
    )}
  </nav>`;
}
