import { storageLimitsOf } from '#shared/contracts/apps/tiers.ts';
import { RULE_SETS_PATH } from '#shared/contracts/paths.ts';
import { presentRuleSet, RULE_SET_ID, type RuleSet, ruleSetKey } from '#shared/contracts/rules/rule-set.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Handle, Param } from '#shared/http/serve-routes.ts';
import { validateRuleSet } from '#shared/rules/validate-rule-set.ts';
import type { RuleSetWrite } from '#shared/stores/rules/write-rule-sets.ts';
import { admitRead, admitWrite } from '../auth/admit-request.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Request, type Response, sendJson, sendNothing } from '../edge/exchange.ts';
import { type Asked, idOf, pageOf, parseAsked, parseWrite } from '../edge/parse-document-request.ts';
import { etagOf, meetsPreconditions } from '../edge/preconditions.ts';

/** The handlers of stored rule sets. */
export const ruleSetHandlers = (deps: Dependencies) => ({
  listRuleSets: makeList(deps),
  readRuleSet: makeRead(deps),
  putRuleSet: makePut(deps),
  deleteRuleSet: makeRemove(deps),
});

const askedOf = (request: Request, param: Param) => parseAsked(request, param, 'holders');

const makeList =
  (deps: Dependencies): Handle =>
  async (request, response) => {
    const { app } = await admitRead(deps, request, response);
    const page = pageOf(request, (text) => RULE_SET_ID.test(text));
    const answer = await deps.documentLists.run(app, async () => {
      const { ruleSets, hasMore } = await deps.ruleSets.list(app.clientId, page);
      const next = hasMore ? { next: ruleSets.at(-1)?.id } : {};
      return JSON.stringify({ ruleSets: ruleSets.map(presentRuleSet), ...next });
    });
    sendJson(response, 200, answer);
  };

const makeRead =
  (deps: Dependencies): Handle =>
  async (request, response, param) => {
    const { app } = await admitRead(deps, request, response);
    const id = idOf(param);
    const found = id === undefined ? undefined : await deps.ruleSets.read(app.clientId, id);
    if (!found) throw new Problem('rule-set-not-found', 'This client app has no rule set with this id.');
    send(response, 200, found);
  };

const makePut =
  (deps: Dependencies): Handle =>
  async (request, response, param) => {
    const { caller, asked } = await admitWrite(deps, request, response, async ({ app }) =>
      parseWrite(askedOf(request, param), await deps.readBody(request, response, app), (json) =>
        validateRuleSet(json, { ...deps.rules, isEnterprise: app.limits.tier === 'enterprise' }),
      ),
    );
    const { ruleSet, isNew } = await deps.ruleSetWrites.put(writeOf(caller, asked), asked.content);
    deps.ruleSetCache.forget(ruleSetKey(ruleSet.clientId, ruleSet.id));
    const location = `${deps.publicBaseUrl}${RULE_SETS_PATH}/${ruleSet.id}`;
    send(response, isNew ? 201 : 200, ruleSet, isNew ? { location } : {});
  };

const makeRemove =
  (deps: Dependencies): Handle =>
  async (request, response, param) => {
    const { caller, asked } = await admitWrite(deps, request, response, async () => askedOf(request, param));
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
