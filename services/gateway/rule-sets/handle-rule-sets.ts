import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { storageLimitsOf } from '#shared/contracts/apps/tiers.ts';
import { RULE_SETS_PATH } from '#shared/contracts/paths.ts';
import { presentRuleSet, RULE_SET_ID, type RuleSet, ruleSetKey } from '#shared/contracts/rules/rule-set.ts';
import type { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import type { JsonBody } from '#shared/http/read-json-body.ts';
import type { Route } from '#shared/http/serve-routes.ts';
import { validateRuleSet } from '#shared/rules/validate-rule-set.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import type { RuleSetWrite, RuleSetWrites } from '#shared/stores/rules/write-rule-sets.ts';
import { type Dependencies as AdmitDependencies, admitRead, admitWrite } from '../auth/admit-request.ts';
import type { Caller } from '../auth/authenticate.ts';
import { type Request, type Response, sendJson, sendNothing } from '../edge/exchange.ts';
import { type Asked, idOf, pageOf, parseAsked, parseWrite } from '../edge/parse-document-request.ts';
import { etagOf, meetsPreconditions } from '../edge/preconditions.ts';
import { Problem } from '../edge/problem.ts';
import type { RuleSetCache } from './cache-rule-sets.ts';

const COLLECTION = { path: RULE_SETS_PATH, exampleId: 'holders' } as const;
/** One segment and nothing after it; the handler decodes it, once the key is known to be right. */
const RULE_SET_PATH = /^\/access-control\/rule-sets\/[^/]+$/;

export type Dependencies = AdmitDependencies & {
  readonly readBody: (request: Request, response: Response, app: AppAccess) => Promise<JsonBody>;
  readonly rules: { readonly chainIds: ReadonlySet<number> };
  /** Reads without the cache, so that a client finds its own writes. */
  readonly ruleSets: Pick<RuleSets, 'read' | 'list'>;
  readonly ruleSetCache: Pick<RuleSetCache, 'forget'>;
  readonly ruleSetWrites: RuleSetWrites;
  /** Bounds the lists read at a time, of up to a megabyte each; client apps take turns. */
  readonly documentLists: FairTaskQueue;
  readonly publicBaseUrl: string;
};

/** The routes of stored rule sets. Reads cost the poll rate, writes the rate and one of the day's writes; none costs quota. */
export const ruleSetRoutes = (deps: Dependencies): Route[] => [
  { method: 'get', path: RULE_SETS_PATH, name: 'rule-sets', handle: makeList(deps) },
  { method: 'get', path: RULE_SET_PATH, name: 'rule-set', handle: makeRead(deps) },
  { method: 'put', path: RULE_SET_PATH, name: 'rule-set-write', handle: makePut(deps) },
  { method: 'delete', path: RULE_SET_PATH, name: 'rule-set-delete', handle: makeRemove(deps) },
];

const makeList = (deps: Dependencies) =>
  async function listRuleSets(request: Request, response: Response): Promise<void> {
    const { app } = await admitRead(deps, request, response);
    const page = pageOf(request, (text) => RULE_SET_ID.test(text));
    const answer = await deps.documentLists.run(app, async () => {
      const { ruleSets, hasMore } = await deps.ruleSets.list(app.clientId, page);
      const next = hasMore ? { next: ruleSets.at(-1)?.id } : {};
      return JSON.stringify({ ruleSets: ruleSets.map(presentRuleSet), ...next });
    });
    sendJson(response, 200, answer);
  };

const makeRead = (deps: Dependencies) =>
  async function readRuleSet(request: Request, response: Response): Promise<void> {
    const { app } = await admitRead(deps, request, response);
    const id = idOf(request, COLLECTION);
    const found = id === undefined ? undefined : await deps.ruleSets.read(app.clientId, id);
    if (!found) throw new Problem('rule-set-not-found', 'This client app has no rule set with this id.');
    send(response, 200, found);
  };

const makePut = (deps: Dependencies) =>
  async function putRuleSet(request: Request, response: Response): Promise<void> {
    const { caller, asked } = await admitWrite(deps, request, response, async ({ app }) =>
      parseWrite(request, COLLECTION, await deps.readBody(request, response, app), (json) =>
        validateRuleSet(json, { ...deps.rules, isEnterprise: app.limits.tier === 'enterprise' }),
      ),
    );
    const { ruleSet, isNew } = await deps.ruleSetWrites.put(writeOf(caller, asked), asked.content);
    deps.ruleSetCache.forget(ruleSetKey(ruleSet.clientId, ruleSet.id));
    const location = `${deps.publicBaseUrl}${RULE_SETS_PATH}/${ruleSet.id}`;
    send(response, isNew ? 201 : 200, ruleSet, isNew ? { location } : {});
  };

const makeRemove = (deps: Dependencies) =>
  async function removeRuleSet(request: Request, response: Response): Promise<void> {
    const { caller, asked } = await admitWrite(deps, request, response, async () =>
      parseAsked(request, COLLECTION),
    );
    await deps.ruleSetWrites.remove(writeOf(caller, asked));
    deps.ruleSetCache.forget(ruleSetKey(caller.app.clientId, asked.id));
    sendNothing(response);
  };

const writeOf = ({ app, keyId }: Caller, { id, preconditions }: Asked): RuleSetWrite => ({
  clientId: app.clientId,
  accountId: app.accountId,
  id,
  actor: keyId,
  limits: storageLimitsOf(app.limits),
  mayWrite: (version) => meetsPreconditions(preconditions, version),
});

const send = (response: Response, status: 200 | 201, ruleSet: RuleSet, headers = {}): void =>
  sendJson(response, status, JSON.stringify(presentRuleSet(ruleSet)), {
    etag: etagOf(ruleSet.rulesVersion),
    ...headers,
  });
