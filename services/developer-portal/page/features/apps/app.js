import { html, useLayoutEffect, useRef } from '../../lib/html.js';
import { useResource } from '../../lib/resources.js';
import { CurrentApp } from '../../lib/session.js';
import { Identifier } from '../../ui/copy.js';
import { loaded } from '../../ui/page.js';
import { Badge, StateBadge } from '../../ui/values.js';
import { Batch, Batches } from '../batches/batches.js';
import { Check } from '../checks/check.js';
import { Checks } from '../checks/checks.js';
import { Deliveries } from '../deliveries/deliveries.js';
import { Delivery } from '../deliveries/delivery.js';
import { Missing, NotAllowed } from '../frame/frame.js';
import { RuleSet, RuleSets } from '../rule-sets/rule-sets.js';
import { Team } from '../team/team.js';
import { Try } from '../try/try.js';
import { Overview } from '../usage/overview.js';
import { Watch } from '../watches/watch.js';
import { Watches } from '../watches/watches.js';
import { Activity } from './audit-list.js';
import { Keys } from './keys.js';
import { Quickstart } from './quickstart.js';
import { Scope } from './scope.js';
import { Settings } from './settings.js';

/**
 * The app's pages in the order of the menu: path, name, component, component of one item, the
 * operation that it is for.
 * @type {[path: string, name: string, page: object, item?: object | undefined, operation?:
 *   string][]}
 */
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
  ['team', 'Team', Team],
  ['activity', 'Activity', Activity],
  ['settings', 'Settings', Settings],
];

/** One client app: its head, its menu and the selected page. */
export function App({ id, section = '', item }) {
  const base = `/apps/${encodeURIComponent(id)}`;
  const resource = useResource('GET /api/apps/:clientId', { clientId: id });
  const found = SECTIONS.find(([path]) => path === section);
  const page = item === undefined ? found?.[2] : found?.[3];
  if (!found || !page || resource.error?.status === 404) return html`<${Missing} />`;
  const [, name, , , needed] = found;
  return loaded(
    resource,
    (app) => {
      const may = (operation) => app.operations.includes(operation);
      const sections = SECTIONS.filter(([, , , , operation]) => operation === undefined || may(operation));
      return html`<${CurrentApp.Provider} value=${{ app, clientId: app.clientId, base, reload: resource.reload, may }}>
    <div class="app-head">
      <p class="crumbs"><a href="/apps">Apps</a><span aria-hidden="true">/</span><a href=${base}>${app.name}</a></p>
      <div class="badges"><${Identifier} value=${app.clientId} what="Client ID" />
        ${app.role !== 'owner' && html`<${Badge}>You: ${app.role}<//>`}
        ${app.suspended && html`<${Badge} tone="bad">Suspended<//>`}
        ${app.scope.state !== 'approved' && html`<${StateBadge} of="scope" state=${app.scope.state} />`}
      </div>
    </div>
    ${
      app.suspended &&
      html`<p class="notice bad">An operator has suspended this app: its checks are answered with 403. Please write to
        the operator of this service.</p>`
    }
    ${app.role === 'viewer' && html`<p class="notice">You are a viewer of this app: you can see everything, but change nothing.</p>`}
    <div class="app-body">
      <${Menu} label=${`Pages of ${app.name}`} base=${base} section=${section} sections=${sections} />
      <div class="app-page">${
        needed === undefined || may(needed)
          ? html`<${page} key=${`${section}/${item}`} item=${item} />`
          : html`<${NotAllowed} title=${name} />`
      }</div>
    </div>
  <//>`;
    },
    'App',
  );
}

/**
 * The menu beside a page. On a narrow screen it is a strip that is wider than the screen: the
 * current page's name is brought into sight.
 */
export function Menu({ label, base, section, sections }) {
  const strip = useRef(/** @type {any} */ (null));
  useLayoutEffect(() => {
    /** @type {HTMLElement} */
    const nav = strip.current;
    /** @type {HTMLElement | null} */
    const link = nav.querySelector('[aria-current]');
    if (link)
      nav.scrollLeft +=
        link.getBoundingClientRect().right - nav.getBoundingClientRect().right + link.offsetWidth / 2;
  }, [section]);
  return html`<nav ref=${strip} class="side" aria-label=${label}>
    ${sections.map(
      ([path, name]) => html`<a key=${path} href=${path ? `${base}/${path}` : base}
        aria-current=${path === section ? 'page' : undefined}>${name}</a>`,
    )}
  </nav>`;
}
