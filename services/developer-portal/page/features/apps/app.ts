import { html, useLayoutEffect, useRef } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { CurrentApp } from '../../lib/session.ts';
import { Identifier } from '../../ui/copy.ts';
import { loadedPage, Missing } from '../../ui/page.ts';
import { Badge, StateBadge } from '../../ui/values.ts';
import { Batch, Batches } from '../batches/batches.ts';
import { StartBatch } from '../batches/start-batch.ts';
import { Check, Checks } from '../checks/checks.ts';
import { Deliveries, Delivery } from '../deliveries/deliveries.ts';
import { NotAllowed } from '../frame/frame.ts';
import { NEW } from '../frame/path-parts.ts';
import { Editor, RuleSet, RuleSets } from '../rule-sets/rule-sets.ts';
import { Team } from '../team/team.ts';
import { Try } from '../try/try.ts';
import { Overview } from '../usage/overview.ts';
import { Watch, Watches } from '../watches/watches.ts';
import { Activity } from './audit-list.ts';
import { Keys } from './keys.ts';
import { Quickstart } from './quickstart.ts';
import { Scope } from './scope.ts';
import { Settings } from './settings.ts';

/** A page, and the operation that it is for, if any: who may not use that does not see it. */
type Page = { name: string; page: object; needs?: string };
/** A page of the menu, with the pages of one item and of a new one. */
export type Section = Page & { path: string; item?: object; making?: Page };

const NEW_RULE_SET = { name: 'New rule set', page: Editor, needs: 'putRuleSet' };
const NEW_BATCH = { name: 'Start a batch', page: StartBatch, needs: 'startBatch' };
const SECTIONS: Section[] = [
  { path: '', name: 'Overview', page: Overview },
  { path: 'quickstart', name: 'Quickstart', page: Quickstart, needs: 'createKey' },
  { path: 'keys', name: 'API keys', page: Keys },
  { path: 'rule-sets', name: 'Rule sets', page: RuleSets, item: RuleSet, making: NEW_RULE_SET },
  { path: 'checks', name: 'Checks', page: Checks, item: Check },
  { path: 'batches', name: 'Batches', page: Batches, item: Batch, making: NEW_BATCH },
  { path: 'watches', name: 'Watches', page: Watches, item: Watch },
  { path: 'webhooks', name: 'Webhooks', page: Deliveries, item: Delivery },
  { path: 'scope', name: 'Scope', page: Scope },
  { path: 'try', name: 'Try it', page: Try, needs: 'tryCheck' },
  { path: 'team', name: 'Team', page: Team },
  { path: 'activity', name: 'Activity', page: Activity },
  { path: 'settings', name: 'Settings', page: Settings },
];

/** The page at `/:section/:item`. */
export function findPageOf(sections: Section[], path: string, item?: string): Page | undefined {
  const found = sections.find((one) => one.path === path);
  if (item === undefined) return found;
  if (item === NEW) return found?.making;
  return found?.item && { name: found.name, page: found.item };
}

export function App({ id, section = '', item }) {
  const base = `/apps/${encodeURIComponent(id)}`;
  const resource = useResource('GET /api/apps/:clientId', { clientId: id });
  const found = findPageOf(SECTIONS, section, item);
  if (!found) return html`<${Missing} />`;
  return loadedPage(resource, 'App', (app) => {
    const may = (operation) => app.operations.includes(operation);
    const isShown = ({ needs }: Page) => needs === undefined || may(needs);
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
      <${Menu} label=${`Pages of ${app.name}`} base=${base} section=${section} sections=${SECTIONS.filter(isShown)} />
      <div class="app-page">${
        isShown(found)
          ? html`<${found.page} key=${`${section}/${item}`} item=${item} />`
          : html`<${NotAllowed} title=${found.name} />`
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
      ({ path, name }) => html`<a key=${path} href=${path ? `${base}/${path}` : base}
        aria-current=${path === section ? 'page' : undefined}>${name}</a>`,
    )}
  </nav>`;
}
