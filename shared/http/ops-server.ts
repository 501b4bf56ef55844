import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from '#shared/telemetry/metrics.ts';

/** True when well, otherwise the reason why not. It looks at state and does no I/O. */
type Check = () => true | string;

/** Conditions under which a process takes work, or those that only a restart mends: an unavailable
 * dependency is none of the latter, because it is still unavailable after the restart. */
export class HealthChecks {
  readonly #checks = new Map<string, Check>();

  add(name: string, check: Check): void {
    this.#checks.set(name, check);
  }

  /** Every check's answer; all is well when all of them are true. */
  judge(): { isWell: boolean; checks: Record<string, true | string> } {
    const checks = Object.fromEntries([...this.#checks].map(([name, check]) => [name, check()]));
    return { isWell: Object.values(checks).every((answer) => answer === true), checks };
  }
}

type OpsServer = AsyncDisposable & { readonly port: number };

type Options = {
  readonly host: string;
  readonly port: number;
  readonly readiness: HealthChecks;
  readonly liveness: HealthChecks;
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
      const { isWell, checks } = liveness.judge();
      if (isWell) return send(200, 'text/plain', 'ok\n');
      const faults = Object.fromEntries(Object.entries(checks).filter(([, answer]) => answer !== true));
      return send(503, 'application/json', `${JSON.stringify({ live: false, faults })}\n`);
    }
    if (request.url === '/readyz') {
      const { isWell: ready, checks } = readiness.judge();
      return send(ready ? 200 : 503, 'application/json', `${JSON.stringify({ ready, checks })}\n`);
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
