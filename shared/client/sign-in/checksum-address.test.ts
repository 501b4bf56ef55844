import { randomBytes } from 'node:crypto';
import { toChecksumAddress } from '#shared/contracts/rules/address.ts';
import { checksumAddress } from './checksum-address.ts';

test.each([
  // The examples of EIP-55.
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
])('writes %s from its lower and its upper case', (address) => {
  expect(checksumAddress(address.toLowerCase())).toBe(address);
  expect(checksumAddress(`0x${address.slice(2).toUpperCase()}`)).toBe(address);
});

test('agrees with the gateway on any address', () => {
  for (let i = 0; i < 200; i++) {
    const address = `0x${randomBytes(20).toString('hex')}`;
    expect(checksumAddress(address)).toBe(toChecksumAddress(address));
  }
});
