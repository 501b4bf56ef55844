import { BATCH_PATH, CHAINS_PATH, CHECK_PATH } from '#shared/contracts/paths.ts';
import type { Handle, Route } from '#shared/http/serve-routes.ts';
import { jwksOf } from '#shared/proof-keys.ts';
import type { KeyRing } from '#shared/secret-box.ts';
import { type Dependencies as AcceptBatchDependencies, makeAcceptBatch } from './batches/accept-batch.ts';
import {
  BATCH_RESULTS_PATH,
  BATCH_STATUS_PATH,
  makeReadBatch,
  makeReadBatchResults,
  type Dependencies as ReadBatchDependencies,
} from './batches/read-batch.ts';
import { type Dependencies as AcceptDependencies, makeAcceptCheck } from './checks/accept-check.ts';
import { type Dependencies as ListChainsDependencies, makeListChains } from './checks/list-chains.ts';
import { makeReadCheck, type Dependencies as ReadDependencies } from './checks/read-check.ts';
import { HOME_PAGE } from './docs/home-page.ts';
import { makeOpenApi, OPENAPI_PATH } from './docs/openapi/openapi.ts';
import { DOCS_POLICY, makeDocsSite } from './docs/site.ts';
import { type Headers, send, sendJson } from './edge/exchange.ts';
import { type Dependencies as RuleSetDependencies, ruleSetRoutes } from './rule-sets/handle-rule-sets.ts';
import { type Dependencies as WatchDependencies, watchRoutes } from './watches/handle-watches.ts';

export type Dependencies = AcceptDependencies &
  ReadDependencies &
  AcceptBatchDependencies &
  ReadBatchDependencies &
  ListChainsDependencies &
  RuleSetDependencies &
  WatchDependencies & {
    /** Public keys of signed verdicts, if verdicts are signed here. */
    readonly proofKeys: KeyRing | undefined;
  };

const JWKS_PATH = '/.well-known/jwks.json';

/** One segment and nothing after it; the handler decodes it, once the key is known to be right. */
const RESPONSE_PATH = /^\/access-control\/check-roles\/responses\/[^/]+$/;

/**
 * Every route of the gateway. A handler begins with the key: key → the client app's share of the requests in flight →
 * scope → body → limits → its work.
 */
export const makeRoutes = (deps: Dependencies): Route[] => [
  { method: 'post', path: CHECK_PATH, name: 'check-roles', handle: makeAcceptCheck(deps) },
  { method: 'get', path: RESPONSE_PATH, name: 'responses', handle: makeReadCheck(deps) },
  { method: 'post', path: BATCH_PATH, name: 'batch', handle: makeAcceptBatch(deps) },
  { method: 'get', path: BATCH_STATUS_PATH, name: 'batch-status', handle: makeReadBatch(deps) },
  { method: 'get', path: BATCH_RESULTS_PATH, name: 'batch-results', handle: makeReadBatchResults(deps) },
  { method: 'get', path: CHAINS_PATH, name: 'chains', handle: makeListChains(deps) },
  { method: 'get', path: JWKS_PATH, name: 'jwks', handle: sendJwks(deps) },
  ...ruleSetRoutes(deps),
  ...watchRoutes(deps),
  ...documentRoutes(deps),
];

/** The documents are the same for all callers. */
const PUBLIC = { 'cache-control': 'public, max-age=300' } as const;

/** The keys of signed verdicts: verifiers need no key of ours, and may be pages of other origins. */
function sendJwks({ proofKeys }: Pick<Dependencies, 'proofKeys'>): Handle {
  const json = JSON.stringify(proofKeys ? jwksOf(proofKeys) : { keys: [] });
  const headers = {
    ...PUBLIC,
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
  };
  return async (_request, response) => sendJson(response, 200, json, headers);
}

/** Where the API is described, for machines too (RFC 8631). */
const HOME_LINKS = '<docs>; rel="service-doc", <openapi.json>; rel="service-desc"';

function documentRoutes({ publicBaseUrl, chains }: Pick<Dependencies, 'publicBaseUrl' | 'chains'>): Route[] {
  const document = makeOpenApi(publicBaseUrl);
  const site = makeDocsSite({ document, baseUrl: publicBaseUrl, chainId: chains[0]?.chainId ?? 1 });
  return [
    {
      method: 'get',
      path: OPENAPI_PATH,
      name: 'openapi',
      handle: serve('application/json', JSON.stringify(document)),
    },
    { method: 'get', path: '/', name: 'home', handle: serve(HTML, HOME_PAGE, { link: HOME_LINKS }) },
    ...[...site].map(([path, { contentType, body }]): Route => {
      return { method: 'get', path, name: 'docs', handle: serve(contentType, body) };
    }),
  ];
}

const HTML = 'text/html; charset=utf-8';

const serve =
  (contentType: string, body: string, headers: Headers = {}): Handle =>
  async (_request, response) =>
    send(response, 200, contentType, body, {
      ...PUBLIC,
      ...(contentType === HTML ? { 'content-security-policy': DOCS_POLICY } : {}),
      ...headers,
    });
