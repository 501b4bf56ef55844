import type { DemoChain } from '#shared/contracts/demo-chain.ts';
import { routesOf } from '#shared/http/operation.ts';
import type { Handle, Route } from '#shared/http/serve-routes.ts';
import { jwksOf } from '#shared/proof-keys.ts';
import { decisionPointRoutes, makeDescribeDecisionPoint } from './authzen/describe-decision-point.ts';
import { makeEvaluate } from './authzen/evaluate.ts';
import { makeAcceptBatch } from './batches/accept-batch.ts';
import { makeReadBatch, makeReadBatchResults } from './batches/read-batch.ts';
import { makeAcceptCheck } from './checks/accept-check.ts';
import { makeListChains } from './checks/list-chains.ts';
import { makeReadCheck } from './checks/poll-request.ts';
import { deliveryHandlers } from './deliveries/handle-deliveries.ts';
import type { Dependencies } from './dependencies.ts';
import { exampleOf } from './docs/examples.ts';
import { makeOpenApi, OPENAPI_PATH, onChain } from './docs/openapi.ts';
import { DOCS_POLICY, HOME_PAGE, makeDocsSite } from './docs/site.ts';
import { type Headers, noteAccess, send, sendJson } from './edge/exchange.ts';
import { OPERATIONS, type OperationId } from './operations.ts';
import { ruleSetHandlers } from './rule-sets/handle-rule-sets.ts';
import { makeIssueNonce } from './sign-in/issue-nonce.ts';
import { watchHandlers } from './watches/handle-watches.ts';

/**
 * Every route of the gateway: its operations, and the documents about them. A handler begins with
 * the key: key → the client app's share of the requests in flight → scope and permission → body →
 * limits → its work.
 */
export function makeRoutes(deps: Dependencies): Route[] {
  const readDecisionPoint = makeDescribeDecisionPoint(deps.publicBaseUrl, PUBLIC);
  const handlers: Readonly<Record<OperationId, Handle>> = {
    checkRoles: makeAcceptCheck(deps),
    readResponse: makeReadCheck(deps),
    listChains: makeListChains(deps),
    readKeys: sendJwks(deps),
    issueNonce: makeIssueNonce(deps),
    startBatch: makeAcceptBatch(deps),
    readBatch: makeReadBatch(deps),
    readBatchResults: makeReadBatchResults(deps),
    ...ruleSetHandlers(deps),
    ...watchHandlers(deps),
    ...deliveryHandlers(deps),
    evaluateAccess: makeEvaluate(deps, false),
    evaluateAccesses: makeEvaluate(deps, true),
    readDecisionPoint,
  };
  const noting = (id: OperationId): Handle => {
    const [{ access }, handle] = [OPERATIONS[id], handlers[id]];
    return (request, response, param) => {
      noteAccess(response, access);
      return handle(request, response, param);
    };
  };
  return [
    ...routesOf<OperationId>(OPERATIONS, noting),
    ...deps.documentRoutes,
    ...decisionPointRoutes(deps.publicBaseUrl, readDecisionPoint),
  ];
}

/** The documents are the same for all callers. */
const PUBLIC = { 'cache-control': 'public, max-age=300' } as const;

/** The keys of signed verdicts: verifiers need no key of ours, and may be pages of other
 * origins. */
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

/** The documents about the operations, rendered once at the start. */
export function makeDocumentRoutes({
  publicBaseUrl,
  ...configured
}: Pick<Dependencies, 'publicBaseUrl' | 'chains'> & { readonly demo: DemoChain | undefined }): Route[] {
  const example = exampleOf(configured);
  const document = onChain(makeOpenApi(publicBaseUrl), example);
  const site = makeDocsSite({ document, baseUrl: publicBaseUrl, example });
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
