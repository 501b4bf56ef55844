import fc from 'fast-check';
import { parseCidrs, refuseAddress, refuseCallbackHost } from './callback-address.ts';

const LOOPBACK_FORMS = [
  '127.0.0.1',
  '2130706433',
  '0x7f.1',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '127.0.0.1.',
  '１２７.０.０.１',
  '１２７。０。０。１',
];

const REFUSED_ADDRESSES = [
  ['0.0.0.0', '0.1.2.3', '0.255.255.255'],
  ['10.0.0.1', '10.255.255.255'],
  ['100.64.0.1', '100.127.255.255'],
  ['127.0.0.1', '127.255.255.254'],
  ['169.254.169.254', '169.254.0.1'],
  ['172.16.0.1', '172.31.255.255'],
  ['192.0.0.1', '192.0.0.170'],
  ['192.0.2.1', '198.51.100.1', '203.0.113.1'],
  ['192.88.99.1'],
  ['192.168.0.1', '192.168.255.255'],
  ['198.18.0.1', '198.19.255.255'],
  ['224.0.0.1', '239.255.255.255'],
  ['240.0.0.1', '255.255.255.255'],
  ['::', '::1', '::127.0.0.1', '::8.8.8.8'],
  ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::ffff:0:127.0.0.1'],
  ['fe80::1', 'febf::1', 'fe80::1%eth0', 'fec0::1'],
  ['fc00::1', 'fd12:3456::1'],
  ['ff02::1', 'ff0e::1'],
  ['64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1'],
  ['2002:7f00:1::1', '2002:808:808::1'],
  ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:2::1', '2001:20::1'],
  ['2001:db8::1', '3fff::1', '3fff:fff::1', '5f00::1', '100::1', '4000::1', '2606::5efe:7f00:1'],
].flat();

const PUBLIC_ADDRESSES = [
  '1.1.1.1',
  '8.8.8.8',
  '11.0.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.0.1.1',
  '198.20.0.1',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:80b::200e',
  '2001:4860:4860::8888',
];

describe('refuseCallbackHost', () => {
  test.each(LOOPBACK_FORMS)('refuses loopback written as %s', (host) => {
    expect(refuseCallbackHost(host, [])).toBe('loopback');
  });

  test.each(REFUSED_ADDRESSES.filter((address) => !address.includes('%')))(
    'refuses the literal %s',
    (address) => {
      const host = address.includes(':') ? `[${address}]` : address;
      expect(refuseCallbackHost(host, [])).toBeDefined();
    },
  );

  test.each(PUBLIC_ADDRESSES)('accepts the public literal %s', (address) => {
    expect(refuseCallbackHost(address.includes(':') ? `[${address}]` : address, [])).toBeUndefined();
  });

  test.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'printer.local',
    'metadata.google.internal',
    'metadata.google.internal.',
    'local',
    'internal',
  ])('refuses the local name %s', (host) => {
    expect(refuseCallbackHost(host, parseCidrs('127.0.0.0/8'))).toBe('local-name');
  });

  test.each([
    'example.com',
    'notlocalhost',
    'localhost.example.com',
    'xn--bcher-kva.example',
    'example.com.',
  ])('leaves the name %s to the attempt', (host) => {
    expect(refuseCallbackHost(host, [])).toBeUndefined();
  });

  test.each(['', '.', 'a..', 'a b', '[::1', '127.0.0.1:80', 'a@b', 'a/b', '256.256.256.256', '1.2.3.4.5'])(
    'refuses %j, which is not a host',
    (host) => {
      expect(refuseCallbackHost(host, [])).toBe('malformed-host');
    },
  );

  test('accepts a literal inside the allow list in every form, and nothing beside it', () => {
    const allowed = parseCidrs('127.0.0.0/8, ::1/128');
    for (const host of [...LOOPBACK_FORMS, '[::1]', '[::ffff:127.0.0.1]']) {
      expect(refuseCallbackHost(host, allowed)).toBeUndefined();
    }
    for (const host of ['10.0.0.1', '[fe80::1]', '[::2]', '[64:ff9b::7f00:1]']) {
      expect(refuseCallbackHost(host, allowed)).toBeDefined();
    }
  });
});

describe('refuseAddress', () => {
  test.each(REFUSED_ADDRESSES)('refuses %s', (address) => {
    expect(refuseAddress(address, [])).toBeDefined();
  });

  test.each(PUBLIC_ADDRESSES)('lets %s pass', (address) => {
    expect(refuseAddress(address, [])).toBeUndefined();
  });

  test('reads only the forms that resolvers and sockets write: a short or octal form is refused', () => {
    for (const text of ['8.8', '010.8.8.8', '134744072', '0x8.8.8.8', 'example.com', '']) {
      expect(refuseAddress(text, [])).toBe('malformed-host');
    }
  });

  test('no IPv6 address outside of 2000::/3 passes', () => {
    const word = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(fc.array(word, { minLength: 8, maxLength: 8 }), (words) => {
        const isGlobal = ((words[0] ?? 0) & 0xe000) === 0x2000;
        const text = words.map((part) => part.toString(16)).join(':');
        return isGlobal || refuseAddress(text, []) !== undefined;
      }),
    );
  });
});

describe('parseCidrs', () => {
  test('takes blocks and bare addresses, and empty text as no block', () => {
    expect(parseCidrs('')).toEqual([]);
    expect(parseCidrs('10.0.0.0/8,192.168.1.1, fd00::/8').map(([, bits]) => bits)).toEqual([8, 32, 8]);
  });

  test.each(['10.0.0.0/33', '10.0.0/8', 'example.com', '10.0.0.0/8,nonsense', '10'])(
    'refuses %j without repeating it',
    (text) => {
      expect(() => parseCidrs(text)).toThrow(/entry \d+ of the list is not a CIDR block/);
    },
  );

  test('holds at most 64 blocks', () => {
    expect(() => parseCidrs(Array.from({ length: 65 }, (_, i) => `10.0.0.${i}`).join(','))).toThrow(/64/);
  });
});
