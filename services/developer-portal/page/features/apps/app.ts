import { html, useLayoutEffect, useRef } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { CurrentApp } from '../../lib/session.ts';
import { Identifier } from '../../ui/copy.ts';
import { loadedPage, Missing } from '../../ui/page.ts';
import { Badge, StateBadge } from '../../ui/values.ts';
import { Batch, Batches } from '../batches/batches.ts';
import { Check, Checks } from '../checks/checks.ts';
import { Deliveries, Delivery } from '../deliveries/deliveries.ts';
import { NotAllowed } from '../frame/frame.ts';
import { RuleSet, RuleSets } from '../rule-sets/rule-sets.ts';
import { Team } from '../team/team.ts';
import { Try } from '../try/try.ts';
import { Overview } from '../usage/overview.ts';
import { Watch, Watches } from '../watches/watches.ts';
import { Activity } from './audit-list.ts';
import { Keys } from './keys.ts';
import { Quickstart } from './quickstart.ts';
import { Scope } from './scope.ts';
import { Settings } from './settings.ts';

/** Path, name, component, component of one item, the operation that it is for. */
export type Section = [
  path: string,
  name: string,
  page: object,
  item?: object | undefined,
  operation?: string,
];

const SECTIONS: Section[] = [
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

export function App({ id, section = '', item }) {
  const base = `/apps/${encodeURIComponent(id)}`;
  const resource = useResource('GET /api/apps/:clientId', { clientId: id });
  const found = SECTIONS.find(([path]) => path === section);
  const page = item === undefined ? found?.[2] : found?.[3];
  if (!found || !page) return html`<${Missing} />`;
  const [, name, , , needed] = found;
  return loadedPage(resource, 'App', (app) => {
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
    ${app.suspended && html`<p class="notice bad">An operator has suspended this app: its checks are answered with 403. Please write to the operator of this service.</p>`}
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
  });
}

/** The menu beside a page. On a narrow screen it is a strip that is wider than the screen: the
 * current page's name is brought into sight. */
export function Menu({ label, base, section, sections }) {
  const strip = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const nav = strip.current;
    const link = nav.querySelector<HTMLElement>('[aria-current]');
    const rightOf = (element: HTMLElement) => element.getBoundingClientRect().right;
    if (link) nav.scrollLeft += rightOf(link) - rightOf(nav) + link.offsetWidth / 2;
  }, [section]);
  return html`<nav ref=${strip} class="side" aria-label=${label}>
    ${sections.map(
      ([path, name]) => html`<a key=${path} href=${path ? `${base}/${path}` : base}
        aria-current=${path === section ? 'page' : undefined}>${name}</a>`,
    )}
  </nav>`;
}
