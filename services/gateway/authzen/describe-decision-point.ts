import { EVALUATION_PATH, EVALUATIONS_PATH, METADATA_PATH } from '#shared/contracts/paths.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Handle, Route } from '#shared/http/serve-routes.ts';
import { type Headers, sendJson } from '../edge/exchange.ts';

/**
 * Answers the metadata of the decision point, which the standard allows for an https address only.
 *
 * @param publicBaseUrl without a slash at its end
 */
export function makeDescribeDecisionPoint(publicBaseUrl: string, headers: Headers): Handle {
  const isHttps = publicBaseUrl.startsWith('https:');
  const json = JSON.stringify({
    policy_decision_point: publicBaseUrl,
    access_evaluation_endpoint: `${publicBaseUrl}${EVALUATION_PATH}`,
    access_evaluations_endpoint: `${publicBaseUrl}${EVALUATIONS_PATH}`,
  });
  return async (_request, response) => {
    if (!isHttps)
      throw new Problem('route-not-found', 'There is no metadata without a public address by https.');
    sendJson(response, 200, json, headers);
  };
}

/**
 * The second place of the document, if the public address has a path: a client inserts the
 * well-known text between host and path.
 */
export function decisionPointRoutes(publicBaseUrl: string, handle: Handle): Route[] {
  const { pathname } = URL.canParse(publicBaseUrl) ? new URL(publicBaseUrl) : { pathname: '/' };
  if (pathname === '/') return [];
  return [{ method: 'get', path: `${METADATA_PATH}${pathname}`, name: 'readDecisionPoint', handle }];
}
