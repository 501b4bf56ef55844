import { NONCE_MS } from '#shared/contracts/sign-in/sign-in-request.ts';
import type { Handle } from '#shared/http/serve-routes.ts';
import { admitWrite } from '../auth/admit-request.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendJson } from '../edge/exchange.ts';
import { parseBody } from '../edge/parse-document-request.ts';
import { NonceBody } from './operations.ts';

const NOT_EMPTY = {
  code: 'wrong-type',
  detail: 'The body must be empty, or an object without members.',
};

/** Answers `POST /access-control/nonces`. It costs rate, and is stored nowhere. */
export function makeIssueNonce(deps: Dependencies): Handle {
  return async function issueNonce(request, response) {
    const { caller, admission } = await admitWrite(deps, request, response, async ({ app }) =>
      parseBody(await deps.readBody(request, response, app, { ofEmpty: {} }), NonceBody, NOT_EMPTY),
    );
    const nonce = deps.nonces.issue(caller.app.clientId, admission.nowMs);
    const expiresAt = new Date(admission.nowMs + NONCE_MS).toISOString();
    sendJson(response, 201, JSON.stringify({ nonce, expiresAt }));
  };
}
