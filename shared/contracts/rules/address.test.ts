import { hasValidChecksum, isAddressText } from './address.ts';
import { toChecksumAddress } from './checksum-address.ts';

// The vectors of EIP-55 itself.
const VECTORS = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
];

test.each(VECTORS)('the checksum of %s is the one EIP-55 gives', (address) => {
  expect(toChecksumAddress(address.toLowerCase())).toBe(address);
  expect(hasValidChecksum(address)).toBe(true);
});

test('one letter of the wrong case is a wrong checksum', () => {
  expect(hasValidChecksum('0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed')).toBe(false);
});

test.each(['0x12', 'vitalik.eth', 'eip155:1:0x52908400098527886E0F7030069857D2E4169EE7', ''])(
  '%s is not an address',
  (text) => expect(isAddressText(text)).toBe(false),
);
