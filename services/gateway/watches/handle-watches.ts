import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { storageLimitsOf } from '#shared/contracts/apps/tiers.ts';
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { CallbackPolicy } from '#shared/contracts/webhooks/judge-callback-url.ts';
import type { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import type { JsonBody } from '#shared/http/read-json-body.ts';
import type { Route } from '#shared/http/serve-routes.ts';
import { presentMember } from '#shared/stores/watches/members/present-member.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { type ChangeMembers, memberIdOfText } from '#shared/stores/watches/members/write-watch-members.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import type { WatchWrite, WatchWrites } from '#shared/stores/watches/write-watches.ts';
import {
  type Dependencies as AdmitDependencies,
  admitFirst,
  admitRead,
  admitWrite,
} from '../auth/admit-request.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { BatchBody } from '../batches/batch-bodies.ts';
import { formatOf } from '../batches/receive-values.ts';
import { decodeSegment } from '../edge/decode-segment.ts';
import { type Request, type Response, sendJson, sendNothing } from '../edge/exchange.ts';
import { type Asked, idOf, pageOf, parseAsked, parseWrite } from '../edge/parse-document-request.ts';
import { etagOf, meetsPreconditions } from '../edge/preconditions.ts';
import { Problem } from '../edge/problem.ts';
import { receiveMembers } from './receive-members.ts';
import { validateWatch } from './validate-watch.ts';

const COLLECTION = { path: WATCHES_PATH, exampleId: 'members' } as const;
const WATCH_PATH = /^\/access-control\/watches\/[^/]+$/;
const ACTION_PATH = /^\/access-control\/watches\/[^/]+\/(pause|resume|check|release)$/;
const MEMBERS_PATH = /^\/access-control\/watches\/[^/]+\/members$/;
const MEMBER_PATH = /^\/access-control\/watches\/[^/]+\/members\/[^/]+$/;
const MEMBER_ID = /^[\u0021-\u007e]{1,128}$/;

export type Dependencies = AdmitDependencies & {
  readonly readBody: (request: Request, response: Response, app: AppAccess) => Promise<JsonBody>;
  /** Waits while another body of the app is being read; then the request leaves the requests in flight until `resume`. */
  readonly openMembersBody: (request: Request, response: Response, app: AppAccess) => Promise<BatchBody>;
  readonly resumeRequest: (response: Response, app: AppAccess) => void;
  readonly rules: { readonly callback: CallbackPolicy };
  readonly watches: Pick<Watches, 'read' | 'list'>;
  readonly watchMembers: Pick<WatchMembers, 'readMany' | 'page'>;
  readonly watchWrites: WatchWrites;
  /** A list may read 200 rule sets of up to 250 KB, so only a few are made at a time. */
  readonly documentLists: FairTaskQueue;
  readonly changeMembers: ChangeMembers;
  readonly publicBaseUrl: string;
};

/** The routes of watches. Reads cost the poll rate, writes the rate and writes of the day; none costs quota. */
export const watchRoutes = (deps: Dependencies): Route[] => [
  { method: 'get', path: WATCHES_PATH, name: 'watches', handle: makeList(deps) },
  { method: 'get', path: WATCH_PATH, name: 'watch', handle: makeRead(deps) },
  { method: 'put', path: WATCH_PATH, name: 'watch-write', handle: makePut(deps) },
  { method: 'delete', path: WATCH_PATH, name: 'watch-delete', handle: makeRemove(deps) },
  { method: 'post', path: ACTION_PATH, name: 'watch-action', handle: makeAct(deps) },
  { method: 'get', path: MEMBERS_PATH, name: 'watch-members', handle: makeListMembers(deps) },
  { method: 'post', path: MEMBERS_PATH, name: 'watch-members-write', handle: makeChange(deps) },
  { method: 'get', path: MEMBER_PATH, name: 'watch-member', handle: makeReadMember(deps) },
];

const watchNotFound = () => new Problem('watch-not-found', 'This client app has no watch with this id.');

async function readWatch({ watches }: Dependencies, clientId: string, request: Request): Promise<Watch> {
  const id = idOf(request, COLLECTION);
  const found = id === undefined ? undefined : await watches.read(clientId, id);
  if (!found) throw watchNotFound();
  return found;
}

const makeList = (deps: Dependencies) =>
  async function listWatches(request: Request, response: Response): Promise<void> {
    const { app } = await admitRead(deps, request, response);
    const page = pageOf(request, (text) => RULE_SET_ID.test(text));
    const answer = await deps.documentLists.run(app, async () => {
      const found = await deps.watches.list(app.clientId, { ...page, countMax: page.countMax + 1 });
      const shown = found.slice(0, page.countMax);
      const next = found.length > shown.length ? { next: shown.at(-1)?.watchId } : {};
      return { watches: await deps.watchWrites.presentMany(shown), ...next };
    });
    sendJson(response, 200, JSON.stringify(answer));
  };

const makeRead = (deps: Dependencies) =>
  async function readOne(request: Request, response: Response): Promise<void> {
    const { app } = await admitRead(deps, request, response);
    await send(deps, response, 200, await readWatch(deps, app.clientId, request));
  };

const makePut = (deps: Dependencies) =>
  async function putWatch(request: Request, response: Response): Promise<void> {
    const { caller, asked } = await admitWrite(deps, request, response, async ({ app }) =>
      parseWrite(request, COLLECTION, await deps.readBody(request, response, app), (json) =>
        validateWatch(json, deps.rules.callback),
      ),
    );
    const { watch, isNew } = await deps.watchWrites.put(writeOf(caller, asked), asked.content);
    const location = `${deps.publicBaseUrl}${WATCHES_PATH}/${watch.watchId}`;
    await send(deps, response, isNew ? 201 : 200, watch, isNew ? { location } : {});
  };

const makeRemove = (deps: Dependencies) =>
  async function removeWatch(request: Request, response: Response): Promise<void> {
    const { caller, asked } = await admitWrite(deps, request, response, async () =>
      parseAsked(request, COLLECTION),
    );
    await deps.watchWrites.remove(writeOf(caller, asked));
    sendNothing(response);
  };

const makeAct = (deps: Dependencies) =>
  async function actOnWatch(request: Request, response: Response): Promise<void> {
    const { caller, asked } = await admitWrite(deps, request, response, async () =>
      // As for a read: a malformed id is the id of no watch.
      idOf(request, COLLECTION) === undefined
        ? { ok: false, problem: watchNotFound() }
        : parseAsked(request, COLLECTION),
    );
    const action = request.path.slice(request.path.lastIndexOf('/') + 1) as 'pause';
    await send(deps, response, 200, await deps.watchWrites[action](writeOf(caller, asked)));
  };

const makeChange = (deps: Dependencies) =>
  async function changeMembers(request: Request, response: Response): Promise<void> {
    const { app, keyId } = await admitFirst(deps, request, response, 'per-second');
    const format = formatOf(request);
    const watch = await readWatch(deps, app.clientId, request);
    using body = await deps.openMembersBody(request, response, app);
    const changes = await receiveMembers(format, body.chunks);
    deps.resumeRequest(response, app);
    const limits = storageLimitsOf(app.limits);
    const counts = await deps.changeMembers({ watch, actor: keyId, limits }, changes);
    sendJson(response, 200, JSON.stringify(counts));
  };

const makeListMembers = (deps: Dependencies) =>
  async function listMembers(request: Request, response: Response): Promise<void> {
    const { app } = await admitRead(deps, request, response);
    const watch = await readWatch(deps, app.clientId, request);
    const { after, countMax } = pageOf(request, (text) => MEMBER_ID.test(text));
    const page = { countMax, after: after === undefined ? undefined : memberIdOfText(after) };
    const { members, next } = await deps.watchMembers.page(watchUid(watch), page);
    const more = next === undefined ? {} : { next };
    sendJson(response, 200, JSON.stringify({ members: members.map(presentMember), ...more }));
  };

const makeReadMember = (deps: Dependencies) =>
  async function readMember(request: Request, response: Response): Promise<void> {
    const { app } = await admitRead(deps, request, response);
    const watch = await readWatch(deps, app.clientId, request);
    const memberId = memberIdOfText(decodeSegment(request.path.slice(request.path.lastIndexOf('/') + 1)));
    const [member] = await deps.watchMembers.readMany(watchUid(watch), [memberId]);
    if (!member || member.removedAt !== undefined)
      throw new Problem('member-not-found', 'This watch has no member with this ref or account.');
    sendJson(response, 200, JSON.stringify(presentMember(member)));
  };

const writeOf = ({ app, keyId }: Caller, { id, preconditions }: Asked): WatchWrite => ({
  clientId: app.clientId,
  accountId: app.accountId,
  watchId: id,
  actor: keyId,
  limits: storageLimitsOf(app.limits),
  mayWrite: (version) => meetsPreconditions(preconditions, version),
});

async function send(
  { watchWrites }: Pick<Dependencies, 'watchWrites'>,
  response: Response,
  status: 200 | 201,
  watch: Watch,
  headers = {},
): Promise<void> {
  const json = JSON.stringify(await watchWrites.present(watch));
  sendJson(response, status, json, { etag: etagOf(watch.settingsVersion), ...headers });
}
