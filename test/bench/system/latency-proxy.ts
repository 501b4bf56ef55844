import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

// A child process of the benchmarks: passes requests on to a chain unchanged, after a delay that
// simulates the network path to a provider. It parses nothing, so that it takes little CPU from
// either side. At `/chain/N/…` it answers as a chain of id N, so that one chain can serve as many.

const [target = '', delayText = '20'] = process.argv.slice(2);
const delayMs = Number(delayText);
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
/** The id of the chain behind it, as it answers `eth_chainId`. */
const OWN_CHAIN_ID = '"0x7a69"';
const JSON_TYPE = { 'content-type': 'application/json' };

const server = createServer((incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => setTimeout(pass, delayMs));
  const pass = (): void => {
    const body = Buffer.concat(chunks);
    const headers = { ...JSON_TYPE, 'content-length': body.length };
    const chainId = /^\/chain\/(\d+)/.exec(incoming.url ?? '')?.[1];
    const isRenamed = chainId !== undefined && body.includes('"eth_chainId"');
    const sent = request(target, { method: 'POST', agent, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, JSON_TYPE);
      if (isRenamed) void rename(answer, Number(chainId)).then((text) => outgoing.end(text));
      else answer.pipe(outgoing);
    });
    sent.on('error', () => outgoing.destroy());
    sent.end(body);
  };
});
async function rename(answer: IncomingMessage, chainId: number): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks)
    .toString()
    .replaceAll(OWN_CHAIN_ID, `"0x${chainId.toString(16)}"`);
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// The proxy exits with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
