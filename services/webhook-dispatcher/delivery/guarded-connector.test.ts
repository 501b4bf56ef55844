import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Cidr, parseCidrs } from '#shared/contracts/callback-address.ts';
import { answerDns, type Zone } from '../../../test/support/answer-dns.ts';
import { connectDelivery } from './attempt-delivery.ts';
import { makeGuardedConnector, makeResolveHost } from './guarded-connector.ts';

// Scenario: a receiver on loopback, and a DNS server that gives an attacker's answers.

const ALLOWED = parseCidrs('127.0.0.1/32');
const server = createServer((_, response) => response.writeHead(204).end());
let port = 0;
let requests = 0;

beforeAll(async () => {
  server.on('request', () => {
    requests += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
beforeEach(() => {
  requests = 0;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

async function attemptAt(host: string, zone: Zone, allowed: readonly Cidr[] = ALLOWED, allowHttp = true) {
  await using dns = await answerDns(zone);
  await using delivery = connectDelivery({
    connect: makeGuardedConnector({
      allowed,
      allowHttp,
      connectTimeoutMs: 120_000,
      resolve: makeResolveHost([dns.server]),
    }),
    attemptTimeoutMs: 120_000,
    connectionsPerOriginMax: 1,
  });
  return (await delivery.attempt({ url: `http://${host}:${port}/`, headers: {}, body: '{}' })).class;
}

const nothing: Zone = () => [];

test('delivers to a name whose addresses are all allowed', async () => {
  expect(await attemptAt('hooks.example', () => ['127.0.0.1'])).toBe('delivered');
});

test('refuses a name with one refused address', async () => {
  expect(await attemptAt('hooks.example', () => ['127.0.0.1', '10.0.0.1'])).toBe('address-refused');
  expect(await attemptAt('hooks.example', () => ['169.254.169.254', '127.0.0.1'])).toBe('address-refused');
  expect(requests).toBe(0);
});

test('classifies a name without an address as dns-failed', async () => {
  expect(await attemptAt('nowhere.example', nothing)).toBe('dns-failed');
});

test.each([
  '127.0.0.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '127.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::]',
])('the literal %s is refused without a lookup where nothing is allowed', async (host) => {
  expect(await attemptAt(host, nothing, [])).toBe('address-refused');
  expect(requests).toBe(0);
});

test('dials a literal that the allow list includes', async () => {
  expect(await attemptAt('127.0.0.1', nothing)).toBe('delivered');
  expect(await attemptAt('127.0.0.2', nothing)).toBe('address-refused');
});

test('refuses plain http unless the operator allows it', async () => {
  expect(await attemptAt('127.0.0.1', nothing, ALLOWED, false)).toBe('address-refused');
  expect(requests).toBe(0);
});

test('dials a name that rebinds between two queries only at the checked address', async () => {
  let queries = 0;
  const rebinding: Zone = () => (queries++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']);
  expect(await attemptAt('rebind.example', rebinding)).toBe('delivered');
  let later = 0;
  const turning: Zone = () => (later++ === 0 ? ['10.0.0.1'] : ['127.0.0.1']);
  expect(await attemptAt('rebind.example', turning)).toBe('address-refused');
});
