import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** The addresses of a name, looked up again for each query: IPv4 addresses as text, or none
 * (NXDOMAIN). */
export type Zone = (name: string) => readonly string[];

const TYPE_A = 1;
const HEADER_BYTES = 12;

/**
 * Starts a DNS server on loopback that answers A queries from `zone` with a time to live of 0, and
 * AAAA queries with no record (RFC 1035, the minimum of it). The answers of `zone` may change from
 * query to query.
 *
 * @example
 * await using dns = await answerDns((name) => (name === 'rebind.example' ? ['127.0.0.1'] : []));
 * dns.server; // '127.0.0.1:…'
 */
export async function answerDns(zone: Zone): Promise<AsyncDisposable & { readonly server: string }> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => socket.send(answerTo(query, zone), from.port, from.address));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    server: `127.0.0.1:${socket.address().port}`,
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}

function answerTo(query: Buffer, zone: Zone): Buffer {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const question = query.subarray(HEADER_BYTES, at + 5);
  const addresses = zone(labels.join('.').toLowerCase());
  const records = type === TYPE_A ? addresses.map(recordOf) : [];
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  // A response to a recursive query; NXDOMAIN for an unknown name.
  header.writeUInt16BE(addresses.length === 0 ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
}

/** Name (a pointer to the question), type A, class IN, time to live 0, four bytes. */
const recordOf = (address: string): Buffer =>
  Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]);
