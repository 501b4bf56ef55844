import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How the server answers one request; it counts an accepted check by its idempotency key, as the
 * gateway does. */
export type Step =
  | {
      readonly do: 'answer';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    }
  | {
      readonly do: 'problem';
      readonly status: number;
      readonly code: string;
      readonly headers?: Record<string, string>;
    }
  /** Accepts the check, then loses its answer. */
  | { readonly do: 'reset' | 'hang' }
  | { readonly do: 'result' | 'accept' };

export type Answers = AsyncDisposable & {
  readonly url: string;
  /** Every request, oldest first. */
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }[];
  /** Request ids by idempotency key: one entry per check that was accepted. */
  readonly checks: ReadonlyMap<string, string>;
};

export const resultOf = (requestId: string, changes: object = {}): object => ({
  requestId,
  status: 'completed',
  roles: [{ id: 'holder', granted: true }],
  errors: [],
  evaluatedAt: '2026-11-22T10:00:00.000Z',
  blocks: {},
  ...changes,
});

/** A server on a port of its own that answers by a list of steps, the last one for ever. */
export async function startAnswers(...steps: readonly Step[]): Promise<Answers> {
  const checks = new Map<string, string>();
  const requests: Answers['requests'] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const step = steps[Math.min(requests.length, steps.length - 1)] ?? { do: 'hang' };
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    perform(step, request, response, checks);
  });
  // A connection that is closed while a busy client begins to use it would be one more attempt.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    checks,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function perform(
  step: Step,
  request: IncomingMessage,
  response: ServerResponse,
  checks: Map<string, string>,
): void {
  const sendJson = (status: number, body: object, headers: Record<string, string> = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  if (step.do === 'answer') {
    response.writeHead(step.status, step.headers).end(step.body);
    return;
  }
  if (step.do === 'problem') {
    const { status, code } = step;
    const headers = { 'content-type': 'application/problem+json', ...step.headers };
    sendJson(status, { type: 'about:blank', title: code, status, detail: `It is ${code}.`, code }, headers);
    return;
  }
  const requestId = accept(request, checks);
  if (step.do === 'reset') request.socket.destroy();
  if (step.do === 'result') sendJson(200, resultOf(requestId));
  if (step.do === 'accept') sendJson(202, { requestId });
}

function accept({ method, headers }: IncomingMessage, checks: Map<string, string>): string {
  const key = headers['idempotency-key'];
  if (method !== 'POST' || typeof key !== 'string') return randomUUID();
  const requestId = checks.get(key) ?? randomUUID();
  checks.set(key, requestId);
  return requestId;
}
