import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

type LoopbackServer = AsyncDisposable & {
  /** `http://host:port`, without a path. */
  readonly url: string;
};

type Options = {
  /** Default 0: any free port. */
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  /**
   * How long an idle connection stays open; default without limit: a server that closes it while a
   * busy client begins to use it would fail the request.
   */
  readonly keepAliveMs?: number;
};

/**
 * Starts an HTTP server on 127.0.0.1 unless told otherwise. Disposal closes it and its connections.
 *
 * @example
 * await using server = await serveOnLoopback((_request, response) => response.end('ok'));
 * await fetch(server.url);
 */
export async function serveOnLoopback(
  listener: RequestListener,
  { port = 0, host = '127.0.0.1', keepAliveMs = 0 }: Options = {},
): Promise<LoopbackServer> {
  const server = createServer(listener);
  server.keepAliveTimeout = keepAliveMs;
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
