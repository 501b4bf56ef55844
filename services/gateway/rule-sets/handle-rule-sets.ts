import type { Judged } from '#shared/contracts/fault.ts';
import { RULE_SETS_PATH } from '#shared/contracts/paths.ts';
import { presentRuleSet, type RuleSet, ruleSetKey } from '#shared/contracts/rules/rule-set.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Handle, Param } from '#shared/http/serve-routes.ts';
import { validateRuleSet } from '#shared/rules/validate-rule-set.ts';
import { admitRead, admitWrite } from '../auth/admit-request.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Request, type Response, sendJson, sendNothing } from '../edge/exchange.ts';
import { idOf, parseWrite, writeOf } from '../edge/parse-document-request.ts';
import { pageOf, parseQuery } from '../edge/parse-query.ts';
import { etagOf } from '../edge/preconditions.ts';
import { RULE_SET_OPERATIONS } from './operations.ts';

export const ruleSetHandlers = (deps: Dependencies) =>
  ({
    async listRuleSets(request, response) {
      const { app } = await admitRead(deps, request, response);
      const page = pageOf(parseQuery(request, RULE_SET_OPERATIONS.listRuleSets.query));
      await deps.documentLists.run(app, async () => {
        const { ruleSets, next } = await deps.ruleSets.list(app.clientId, page);
        sendJson(response, 200, JSON.stringify({ ruleSets: ruleSets.map(presentRuleSet), next }));
      });
    },
    async readRuleSet(request, response, param) {
      const { app } = await admitRead(deps, request, response);
      const id = idOf(param);
      await deps.documentLists.run(app, async () => {
        const found = id === undefined ? undefined : await deps.ruleSets.read(app.clientId, id);
        if (!found) throw new Problem('rule-set-not-found', 'This client app has no rule set with this id.');
        send(response, 200, found);
      });
    },
    async putRuleSet(request, response, param) {
      const { caller, asked } = await admitWrite(deps, request, response, async ({ app }) =>
        parseAsked(
          request,
          param,
          validateRuleSet(await deps.readBody(request, response, app), {
            ...deps.rules,
            isEnterprise: app.limits.tier === 'enterprise',
          }),
        ),
      );
      const { ruleSet, isNew } = await deps.ruleSetWrites.put(writeOf(caller, asked), asked.content);
      deps.ruleSetCache.forget(ruleSetKey(ruleSet.clientId, ruleSet.id));
      const location = `${deps.publicBaseUrl}${RULE_SETS_PATH}/${ruleSet.id}`;
      send(response, isNew ? 201 : 200, ruleSet, isNew ? { location } : {});
    },
    async deleteRuleSet(request, response, param) {
      const { caller, asked } = await admitWrite(deps, request, response, async () =>
        parseAsked(request, param),
      );
      await deps.ruleSetWrites.remove(writeOf(caller, asked));
      deps.ruleSetCache.forget(ruleSetKey(caller.app.clientId, asked.id));
      sendNothing(response);
    },
  }) satisfies Record<string, Handle>;

const parseAsked = <C>(request: Request, param: Param, content?: Judged<C>) =>
  parseWrite(request, param, 'holders', content);

const send = (response: Response, status: 200 | 201, ruleSet: RuleSet, headers = {}): void =>
  sendJson(response, status, JSON.stringify(presentRuleSet(ruleSet)), {
    etag: etagOf(ruleSet.rulesVersion),
    ...headers,
  });
