import { addressKey, visitorOf } from './client-address.ts';

test.each([
  ['an IPv4 address', '192.0.2.1', '192.0.2.1'],
  ['an IPv4 address as an IPv6 socket names it', '::ffff:192.0.2.1', '192.0.2.1'],
  ['an IPv4 address with a port', '192.0.2.1:50123', '192.0.2.1'],
  ['an IPv4 address behind NAT64', '64:ff9b::192.0.2.1', '192.0.2.1'],
  ['an IPv6 address', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['another one of the same network', '2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
  ['an IPv6 address with a port', '[2001:db8:1:2::9]:50123', '2001:db8:1:2::/64'],
  ['an IPv6 address with a zone', 'fe80::1%eth0', 'fe80::/64'],
  ['the next network', '2001:db8:1:3::1', '2001:db8:1:3::/64'],
])('counts %s by its key', (_, address, key) => {
  expect(addressKey(address)).toBe(key);
});

test.each(['', 'unknown', '_hidden', '1.2.3', '0x7f.1', undefined])(
  'counts %p, which is not an address, under one key',
  (address) => expect(addressKey(address)).toBe('unknown'),
);

test('counts the networks of one site as one visitor, each with a turn of its own', () => {
  expect(visitorOf('2001:db8:1:2::1')).toEqual({
    accountId: '2001:db8:1::/48',
    clientId: '2001:db8:1:2::/64',
  });
  expect(visitorOf('2001:db8:1:3::1').accountId).toBe('2001:db8:1::/48');
  expect(visitorOf('2001:db8:2::1').accountId).toBe('2001:db8:2::/48');
  expect(visitorOf('::ffff:192.0.2.1')).toEqual({ accountId: '192.0.2.1', clientId: '192.0.2.1' });
});
