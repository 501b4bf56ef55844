import { createServer, connect as dial, type Socket } from 'node:net';

/** An address in front of servers, as a failover by DNS or by a virtual address moves it. */
export type Forwarder = AsyncDisposable & {
  /** Leads new connections to this port from now on. Open connections stay where they are. */
  readonly leadTo: (port: number) => void;
  /** From now on no byte passes on the open connections, and none of them is closed: the server's
   * machine has vanished. */
  readonly strand: () => void;
  /** Open connections to a port. */
  readonly countTo: (port: number) => number;
};

/**
 * Listens on 127.0.0.1 and forwards each connection to the port that was named last.
 *
 * @example
 * await using forwarder = await forwardTcp(port, primary.port);
 * forwarder.leadTo(replica.port);
 */
export async function forwardTcp(port: number, first: number): Promise<Forwarder> {
  let target = first;
  const links = new Set<{ readonly client: Socket; readonly upstream: Socket; readonly to: number }>();
  const server = createServer((client) => {
    const upstream = dial({ host: '127.0.0.1', port: target });
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    client.pipe(upstream).pipe(client);
    const link = { client, upstream, to: target };
    links.add(link);
    const end = () => {
      links.delete(link);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
  });
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(port, '127.0.0.1', resolve);
  await listening;
  return {
    leadTo: (next) => {
      target = next;
    },
    strand() {
      for (const { client, upstream } of links) {
        client.unpipe(upstream).resume();
        upstream.unpipe(client).resume();
      }
    },
    countTo: (asked) => [...links].filter(({ to }) => to === asked).length,
    async [Symbol.asyncDispose]() {
      for (const { client } of links) client.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
