import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Cidr, parseCidrs } from '#shared/contracts/webhooks/callback-address.ts';
import { answerDns, type Zone } from '../../../test/support/fakes/answer-dns.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { connectDelivery } from './attempt-delivery.ts';
import { dialOwner, makeGuardedConnector, makeResolveHost, makeSystemLookup } from './guarded-connector.ts';

// Scenario: a receiver on loopback, and a DNS server that gives an attacker's answers.

const OWNER = { accountId: 'acc_1', clientId: 'app_1' };
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
  return (await delivery.attempt({ owner: OWNER, url: `http://${host}:${port}/`, headers: {}, body: '{}' }))
    .class;
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

test("an account's look-ups wait for no more than one of another account's, however many apps and domains it has", async () => {
  const asked: string[] = [];
  const open: (() => void)[] = [];
  const lookUp = makeSystemLookup((hostname) => {
    asked.push(hostname);
    return new Promise((resolve) => open.push(() => resolve([{ address: '127.0.0.1', family: 4 }])));
  });
  const ask = (accountId: string, clientId: string, hostname: string) =>
    dialOwner.run({ accountId, clientId }, () => lookUp(hostname));
  const hostile = Array.from({ length: 20 }, (_, i) => ask('acc_2', `app_${i}`, `a.domain-${i}.uk`));
  const honest = ask('acc_1', 'app_1', 'hooks.co.uk');
  const dials = [...hostile, honest];
  for (let ended = 0; ended < dials.length; ended += 1) {
    await waitUntil('the next look-up', () => open.length > ended);
    open[ended]?.();
  }
  expect(await honest).toEqual(['127.0.0.1']);
  await Promise.all(hostile);
  // Two were under way, and one more of the other account had its turn.
  expect(asked.indexOf('hooks.co.uk')).toBeLessThanOrEqual(3);
});

test("an attempt looks its receiver's name up as its client app", async () => {
  const owners: unknown[] = [];
  await using delivery = connectDelivery({
    connect: makeGuardedConnector({
      ...{ allowed: ALLOWED, allowHttp: true, connectTimeoutMs: 120_000 },
      resolve: async () => {
        owners.push(dialOwner.getStore());
        return ['127.0.0.1'];
      },
    }),
    ...{ attemptTimeoutMs: 120_000, connectionsPerOriginMax: 1 },
  });
  const url = `http://hooks.example:${port}/`;
  expect((await delivery.attempt({ owner: OWNER, url, headers: {}, body: '{}' })).class).toBe('delivered');
  expect(owners).toEqual([OWNER]);
});
