import type { Judged } from '#shared/contracts/fault.ts';
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { isPresent, type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import { makeGiveWay } from '#shared/fairness/fair-ticks.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Handle, Param } from '#shared/http/serve-routes.ts';
import { memberIdOfText } from '#shared/stores/watches/members/write-watch-members.ts';
import { presentMember } from '#shared/stores/watches/present-watch.ts';
import type { WatchWrite } from '#shared/stores/watches/write-watches.ts';
import { admitFirst, admitRead, admitWrite } from '../auth/admit-request.ts';
import type { Caller } from '../auth/authenticate.ts';
import { formatOf } from '../batches/receive-values.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Request, type Response, sendJson, sendNothing } from '../edge/exchange.ts';
import { type Asked, idOf, parseWrite, writeOf } from '../edge/parse-document-request.ts';
import { pageOf, parseQuery } from '../edge/parse-query.ts';
import { etagOf } from '../edge/preconditions.ts';
import { WATCH_OPERATIONS } from './operations.ts';
import { receiveMembers } from './receive-members.ts';
import { validateWatch } from './validate-watch.ts';

export const watchHandlers = (deps: Dependencies) =>
  ({
    async listWatches(request, response) {
      const { app } = await admitRead(deps, request, response);
      const page = pageOf(parseQuery(request, WATCH_OPERATIONS.listWatches.query));
      await deps.documentLists.run(app, async () => {
        const { watches, next } = await deps.watches.list(app.clientId, page);
        sendJson(
          response,
          200,
          JSON.stringify({ watches: await deps.watchWrites.presentMany(watches), next }),
        );
      });
    },
    async readWatch(request, response, param) {
      const { app } = await admitRead(deps, request, response);
      await send(deps, response, 200, await readWatch(deps, app.clientId, param));
    },
    async putWatch(request, response, param) {
      const { caller, asked } = await admitWrite(deps, request, response, async ({ app }) =>
        parseAsked(
          request,
          param,
          validateWatch(await deps.readBody(request, response, app), deps.rules.callback),
        ),
      );
      const { watch, isNew } = await deps.watchWrites.put(watchWriteOf(caller, asked), asked.content);
      const location = `${deps.publicBaseUrl}${WATCHES_PATH}/${watch.watchId}`;
      await send(deps, response, isNew ? 201 : 200, watch, isNew ? { location } : {});
    },
    async deleteWatch(request, response, param) {
      const { caller, asked } = await admitWrite(deps, request, response, async () =>
        parseAsked(request, param),
      );
      await deps.watchWrites.remove(watchWriteOf(caller, asked));
      sendNothing(response);
    },
    pauseWatch: makeAct(deps, 'pause'),
    resumeWatch: makeAct(deps, 'resume'),
    checkWatch: makeAct(deps, 'check'),
    releaseWatch: makeAct(deps, 'release'),
    async listMembers(request, response, param) {
      const { app } = await admitRead(deps, request, response);
      const watch = await readWatch(deps, app.clientId, param);
      const { after, countMax } = pageOf(parseQuery(request, WATCH_OPERATIONS.listMembers.query));
      const page = { countMax, after: after && memberIdOfText(after) };
      await deps.documentLists.run(app, async () => {
        const { members, next } = await deps.watchMembers.page(watchUid(watch), page);
        sendJson(response, 200, JSON.stringify({ members: members.map(presentMember), next }));
      });
    },
    async changeMembers(request, response, param) {
      const { app, keyId } = await admitFirst(deps, request, response, 'per-second');
      const format = formatOf(request);
      const watch = await readWatch(deps, app.clientId, param);
      using body = await deps.openBody(request, response, app, { waits: true });
      const { chunks } = body;
      const giveWay = makeGiveWay(() => deps.takeTurn(app));
      const changes = await receiveMembers(format, { chunks, giveWay });
      deps.resumeRequest(response, app);
      const counts = await deps.changeMembers({ watch, actor: keyId, limits: app.limits }, changes);
      sendJson(response, 200, JSON.stringify(counts));
    },
    async readMember(request, response, param) {
      const { app } = await admitRead(deps, request, response);
      const watch = await readWatch(deps, app.clientId, param);
      const memberId = memberIdOfText(param('member'));
      const [member] = await deps.watchMembers.readMany(watchUid(watch), [memberId]);
      if (!isPresent(member))
        throw new Problem('member-not-found', 'This watch has no member with this ref or account.');
      sendJson(response, 200, JSON.stringify(presentMember(member)));
    },
  }) satisfies Record<string, Handle>;

const parseAsked = <C>(request: Request, param: Param, content?: Judged<C>) =>
  parseWrite(request, param, 'members', content);

const watchNotFound = () => new Problem('watch-not-found', 'This client app has no watch with this id.');

async function readWatch({ watches }: Dependencies, clientId: string, param: Param): Promise<Watch> {
  const id = idOf(param);
  const found = id === undefined ? undefined : await watches.read(clientId, id);
  if (!found) throw watchNotFound();
  return found;
}

const makeAct =
  (deps: Dependencies, action: 'pause' | 'resume' | 'check' | 'release'): Handle =>
  async (request, response, param) => {
    const { caller, asked } = await admitWrite(deps, request, response, async () => {
      // As for a read: a malformed id is the id of no watch.
      if (idOf(param) === undefined) throw watchNotFound();
      return parseAsked(request, param);
    });
    await send(deps, response, 200, await deps.watchWrites[action](watchWriteOf(caller, asked)));
  };

const watchWriteOf = (caller: Caller, asked: Asked): WatchWrite => {
  const { id: watchId, ...write } = writeOf(caller, asked);
  return { ...write, watchId };
};

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
