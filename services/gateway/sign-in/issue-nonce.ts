import { faultsOfIssues } from '#shared/contracts/fault.ts';
import { NONCE_MS } from '#shared/contracts/sign-in/sign-in-request.ts';
import { invalidBody, Problem } from '#shared/http/problem.ts';
import type { Handle } from '#shared/http/serve-routes.ts';
import { admitWrite, type Parsed } from '../auth/admit-request.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendJson } from '../edge/exchange.ts';
import { NonceBody } from './operations.ts';

/** Answers `POST /access-control/nonces`. It costs rate, and is stored nowhere. */
export function makeIssueNonce(deps: Dependencies): Handle {
  return async function issueNonce(request, response) {
    const { caller, admission } = await admitWrite(deps, request, response, async ({ app }) =>
      parseBody(await deps.readBody(request, response, app)),
    );
    const nonce = deps.nonces.issue(caller.app.clientId, admission.nowMs);
    const expiresAt = new Date(admission.nowMs + NONCE_MS).toISOString();
    sendJson(response, 201, JSON.stringify({ nonce, expiresAt }));
  };
}

function parseBody(body: Awaited<ReturnType<Dependencies['readBody']>>): Parsed<object> {
  if (!body.ok && body.isEmpty) return { ok: true, value: {} };
  if (!body.ok) return { ok: false, problem: new Problem(body.code, body.detail) };
  const parsed = NonceBody.safeParse(body.json);
  if (parsed.success) return { ok: true, value: parsed.data };
  const faults = faultsOfIssues(parsed.error.issues, body.json, (_issue, pointer) => ({
    pointer,
    code: 'wrong-type',
    detail: 'The body must be empty, or an object without members.',
  }));
  return { ok: false, problem: invalidBody(faults) };
}
