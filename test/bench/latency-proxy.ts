import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

// A child process of the benchmarks: passes requests on to a chain as they are, after a pause that stands for the
// way to a provider. It reads nothing of them, so that it costs either side little of the machine.

const [target = '', delayText = '20'] = process.argv.slice(2);
const delayMs = Number(delayText);
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

const server = createServer((incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => setTimeout(pass, delayMs));
  const pass = (): void => {
    const body = Buffer.concat(chunks);
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const sent = request(target, { method: 'POST', agent, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
      answer.pipe(outgoing);
    });
    sent.on('error', () => outgoing.destroy());
    sent.end(body);
  };
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// It ends with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
