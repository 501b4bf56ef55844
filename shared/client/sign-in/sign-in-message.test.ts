import { parseSignInMessage } from '#shared/contracts/sign-in/sign-in-message.ts';
import { type SignInMessageFields, signInMessage } from './sign-in-message.ts';

const FIELDS: SignInMessageFields = {
  domain: 'shop.example:8443',
  address: '0x52908400098527886e0f7030069857d2e4169ee7',
  uri: 'https://shop.example:8443/vip',
  chainId: 1,
  nonce: 'a1b2c3d4e5f6a7b8',
  issuedAt: new Date('2026-11-22T10:00:00Z'),
};

test('composes the text of EIP-4361, with the address by EIP-55 and nothing that was not given', () => {
  expect(signInMessage(FIELDS)).toBe(
    [
      'shop.example:8443 wants you to sign in with your Ethereum account:',
      '0x52908400098527886E0F7030069857D2E4169EE7',
      '',
      '',
      'URI: https://shop.example:8443/vip',
      'Version: 1',
      'Chain ID: 1',
      'Nonce: a1b2c3d4e5f6a7b8',
      'Issued At: 2026-11-22T10:00:00.000Z',
    ].join('\n'),
  );
});

test('composes every field in its place, as the gateway reads it', () => {
  const text = signInMessage({
    ...FIELDS,
    scheme: 'https',
    statement: 'Enter the shop.',
    expirationTime: new Date('2026-11-22T11:00:00Z'),
    notBefore: new Date('2026-11-22T09:00:00Z'),
    requestId: 'r-1',
    resources: ['https://shop.example/terms', 'ipfs://bafy'],
  });
  expect(text).toBe(
    [
      'https://shop.example:8443 wants you to sign in with your Ethereum account:',
      '0x52908400098527886E0F7030069857D2E4169EE7',
      '',
      'Enter the shop.',
      '',
      'URI: https://shop.example:8443/vip',
      'Version: 1',
      'Chain ID: 1',
      'Nonce: a1b2c3d4e5f6a7b8',
      'Issued At: 2026-11-22T10:00:00.000Z',
      'Expiration Time: 2026-11-22T11:00:00.000Z',
      'Not Before: 2026-11-22T09:00:00.000Z',
      'Request ID: r-1',
      'Resources:',
      '- https://shop.example/terms',
      '- ipfs://bafy',
    ].join('\n'),
  );
  expect(parseSignInMessage(text)).toMatchObject({
    ok: true,
    message: { domain: 'shop.example:8443', chainId: 1, nonce: FIELDS.nonce },
  });
});

test.each<[string, Partial<SignInMessageFields>]>([
  ['a scheme in the domain', { domain: 'https://shop.example' }],
  ['a path in the domain', { domain: 'shop.example/vip' }],
  ['an empty address', { address: '' }],
  ['a name as address', { address: 'vitalik.eth' }],
  ['a relative URI', { uri: '/vip' }],
  ['a chain that is a fraction', { chainId: 1.5 }],
  ['a negative chain', { chainId: -1 }],
  ['a short nonce', { nonce: 'abc' }],
  ['a nonce with a line break', { nonce: 'a1b2c3d4e5f6\nIssued At: 2000-01-01T00:00:00Z' }],
  ['a statement of two lines', { statement: 'Enter\nthe shop.' }],
  ['a statement in other letters', { statement: 'Größe' }],
  ['a request id that adds resources', { requestId: 'r\nResources:\n- https://evil.example' }],
  ['a request id with a blank', { requestId: 'r 1' }],
  ['a resource that is no URI', { resources: ['terms'] }],
  ['an invalid date', { issuedAt: new Date(Number.NaN) }],
  ['more than 4 KiB', { statement: 'x'.repeat(4_096) }],
])('throws for %s', (_name, change) => {
  expect(() => signInMessage({ ...FIELDS, ...change })).toThrow(
    expect.objectContaining({ name: 'RolecallError', code: 'config-invalid' }),
  );
});
