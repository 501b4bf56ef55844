import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from '#shared/telemetry/metrics.ts';
import type { Liveness } from './liveness.ts';

/** True when well, otherwise the reason why not. */
type ReadyCheck = () => true | string;

/** Conditions under which the process takes work. A check is cheap: it looks at state and does no
 * I/O. */
export class Readiness {
  readonly #checks = new Map<string, ReadyCheck>();

  add(name: string, check: ReadyCheck): void {
    this.#checks.set(name, check);
  }

  /** Every check's answer; ready when all of them are true. */
  judge(): { ready: boolean; checks: Record<string, true | string> } {
    const checks = Object.fromEntries([...this.#checks].map(([name, check]) => [name, check()]));
    return { ready: Object.values(checks).every((answer) => answer === true), checks };
  }
}

type OpsServer = AsyncDisposable & { readonly port: number };

type Options = {
  readonly host: string;
  readonly port: number;
  readonly readiness: Readiness;
  readonly liveness: Liveness;
  readonly metrics: Registry;
};

/**
 * Serves `/livez`, `/readyz` and `/metrics`: for operators, on a port that the public never sees.
 * An event loop that is stuck answers nothing at all, which a probe with a timeout counts as a
 * failure.
 */
export async function startOpsServer({
  host,
  port,
  readiness,
  liveness,
  metrics,
}: Options): Promise<OpsServer> {
  const server = createServer((request, response) => {
    const send = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
    };
    if (request.url === '/livez') {
      const faults = liveness.faults();
      if (Object.keys(faults).length === 0) return send(200, 'text/plain', 'ok\n');
      return send(503, 'application/json', `${JSON.stringify({ live: false, faults })}\n`);
    }
    if (request.url === '/readyz') {
      const judgement = readiness.judge();
      return send(judgement.ready ? 200 : 503, 'application/json', `${JSON.stringify(judgement)}\n`);
    }
    if (request.url !== '/metrics') return send(404, 'text/plain', 'not found\n');
    return void metrics.metrics().then(
      (text) => send(200, metrics.contentType, text),
      () => send(500, 'text/plain', 'the metrics could not be collected\n'),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
