import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
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

test('refuses a name of too many addresses without a look at any of them', async () => {
  let looks = 0;
  const addresses = new Proxy<string[]>(
    Array.from({ length: 33 }, () => '127.0.0.1'),
    {
      get(target, member) {
        if (typeof member === 'string' && /^[0-9]+$/.test(member)) looks += 1;
        return Reflect.get(target, member);
      },
    },
  );
  await using delivery = connectDelivery({
    connect: makeGuardedConnector({
      allowed: ALLOWED,
      allowHttp: true,
      connectTimeoutMs: 120_000,
      resolve: async () => addresses,
    }),
    attemptTimeoutMs: 120_000,
    connectionsPerOriginMax: 1,
  });
  const attempt = { owner: OWNER, url: `http://hooks.example:${port}/`, headers: {}, body: '{}' };
  expect(await delivery.attempt(attempt)).toMatchObject({ class: 'address-refused' });
  expect(looks).toBe(0);
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

test('lets no receiver choose the group of a Diffie-Hellman exchange', async () => {
  const hello = Promise.withResolvers<Buffer>();
  await using delivery = connectDelivery({
    connect: makeGuardedConnector({
      allowed: ALLOWED,
      allowHttp: false,
      connectTimeoutMs: 120_000,
      resolve: makeResolveHost([]),
    }),
    attemptTimeoutMs: 120_000,
    connectionsPerOriginMax: 1,
  });
  const receiver = createTcpServer((socket) =>
    socket.once('data', (bytes) => {
      hello.resolve(bytes);
      socket.destroy();
    }),
  );
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await delivery.attempt({ owner: OWNER, url, headers: {}, body: '{}' });
  receiver.close();
  const suites = suitesOf(await hello.promise);
  // The suites that OpenSSL offers by default.
  const [TLS_AES_128_GCM, ECDHE_RSA_AES128_GCM, ...DHE_RSA] = [
    0x1301, 0xc02f, 0x33, 0x39, 0x67, 0x6b, 0x9e, 0x9f, 0xccaa,
  ];
  expect(suites).toEqual(expect.arrayContaining([TLS_AES_128_GCM, ECDHE_RSA_AES128_GCM]));
  expect(suites.filter((suite) => DHE_RSA.includes(suite))).toEqual([]);
});

/** The cipher suites of a ClientHello (RFC 8446, 4.1.2). */
function suitesOf(hello: Buffer): number[] {
  const sessionIdAt = 5 + 4 + 2 + 32;
  const lengthAt = sessionIdAt + 1 + hello.readUInt8(sessionIdAt);
  const suites = hello.subarray(lengthAt + 2, lengthAt + 2 + hello.readUInt16BE(lengthAt));
  return Array.from({ length: suites.length / 2 }, (_, i) => suites.readUInt16BE(2 * i));
}

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
