import fc from 'fast-check';
import { createSiweMessage } from 'viem/siwe';
import { parseSignInMessage } from './sign-in-message.ts';

const ADDRESS = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';

const lines = (changes: Record<number, string> = {}): string[] => {
  const all = [
    'example.com wants you to sign in with your Ethereum account:',
    ADDRESS,
    '',
    'I accept the terms: https://example.com/tos',
    '',
    'URI: https://example.com/login',
    'Version: 1',
    'Chain ID: 1',
    'Nonce: 32891756',
    'Issued At: 2021-09-30T16:25:24Z',
  ];
  for (const [index, line] of Object.entries(changes)) all[Number(index)] = line;
  return all;
};
const text = (changes?: Record<number, string>, ...more: string[]) => [...lines(changes), ...more].join('\n');
const parse = (message: string) => {
  const parsed = parseSignInMessage(message);
  if (!parsed.ok) throw new Error(parsed.fault);
  return parsed.message;
};
const faultOf = (message: string) => {
  const parsed = parseSignInMessage(message);
  return parsed.ok ? undefined : parsed.fault;
};

test('parses the example of EIP-4361', () => {
  const message = text(
    {},
    'Resources:',
    '- ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/',
    '- https://example.com/my-web2-claim.json',
  );
  expect(parse(message)).toEqual({
    domain: 'example.com',
    address: ADDRESS,
    chainId: 1,
    nonce: '32891756',
    issuedAtMs: Date.parse('2021-09-30T16:25:24Z'),
    expiresAtMs: undefined,
    notBeforeMs: undefined,
  });
});

test('parses every field that another library writes', () => {
  const at = (hour: number) => new Date(Date.UTC(2026, 10, 21, hour));
  const message = createSiweMessage({
    scheme: 'https',
    domain: 'Shop.Example:8443',
    address: ADDRESS,
    uri: 'https://shop.example:8443/login?next=%2Fvip#top',
    version: '1',
    chainId: 8453,
    nonce: 'abcdefgh12345678',
    issuedAt: at(10),
    expirationTime: at(11),
    notBefore: at(9),
    requestId: 'a-1~b',
    resources: ['urn:isbn:0451450523', 'mailto:user@example.com', 'https://[2001:db8::1]:80/'],
    statement: 'Sign in, please. "Yes" <or> no? {100%}',
  });
  expect(parse(message)).toEqual({
    domain: 'shop.example:8443',
    address: ADDRESS,
    chainId: 8453,
    nonce: 'abcdefgh12345678',
    issuedAtMs: at(10).getTime(),
    expiresAtMs: at(11).getTime(),
    notBeforeMs: at(9).getTime(),
  });
});

test('parses a message without a statement, with an empty one, and one that looks like a field', () => {
  const without = lines();
  without.splice(3, 1);
  expect(parse(without.join('\n')).nonce).toBe('32891756');
  expect(parse(text({ 3: '' })).nonce).toBe('32891756');
  expect(parse(text({ 3: 'Nonce: 00000000' })).nonce).toBe('32891756');
});

test.each([
  ['2026-02-29T00:00:00Z', undefined],
  ['2026-04-31T00:00:00Z', undefined],
  ['2026-11-21T24:00:00Z', undefined],
  ['2026-11-21T10:00:00', undefined],
  ['2026-11-21 10:00:00Z', undefined],
  ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
  ['2026-11-21t10:00:00.25z', Date.UTC(2026, 10, 21, 10, 0, 0, 250)],
  ['2026-11-21T10:00:00+02:30', Date.UTC(2026, 10, 21, 7, 30)],
  ['2026-12-31T23:59:60-01:00', Date.UTC(2027, 0, 1, 1)],
])('takes %s as the time %s', (time, ms) => {
  const parsed = parseSignInMessage(text({ 9: `Issued At: ${time}` }));
  expect(parsed.ok ? parsed.message.issuedAtMs : undefined).toBe(ms);
});

test.each([
  ['a line feed at the end', text({}, '')],
  ['lines that end in CR LF', lines().join('\r\n')],
  ['one line', lines().join(' ')],
  ['an empty text', ''],
  ['a domain with a path', text({ 0: 'example.com/a wants you to sign in with your Ethereum account:' })],
  ['another first line', text({ 0: 'example.com wants you to log in with your Ethereum account:' })],
  ['a bad IPv6 address', text({ 0: '[1::2::3] wants you to sign in with your Ethereum account:' })],
  ['an address without 0x', text({ 1: ADDRESS.slice(2) })],
  ['a blank behind the address', text({ 1: `${ADDRESS} ` })],
  ['a statement of two lines', text({ 3: 'a\nb' })],
  ['a statement in Unicode', text({ 3: 'Sígn in' })],
  ['a tab in the statement', text({ 3: 'a\tb' })],
  ['a relative URI', text({ 5: 'URI: /login' })],
  ['a URI with a blank', text({ 5: 'URI: https://example.com/a b' })],
  ['a URI with a broken percent-escape', text({ 5: 'URI: https://example.com/%2' })],
  ['another version', text({ 6: 'Version: 2' })],
  ['a chain id in hex', text({ 7: 'Chain ID: 0x1' })],
  ['a short nonce', text({ 8: 'Nonce: 1234567' })],
  ['a nonce with a hyphen', text({ 8: 'Nonce: 1234-5678' })],
  ['a label in another case', text({ 8: 'nonce: 32891756' })],
  [
    'fields in another order',
    text({}, 'Not Before: 2021-09-30T16:25:24Z', 'Expiration Time: 2021-09-30T16:25:24Z'),
  ],
  ['a field twice', text({}, 'Request ID: a', 'Request ID: b')],
  ['a request id with a slash', text({}, 'Request ID: a/b')],
  ['a resource that is no URI', text({}, 'Resources:', '- example')],
  ['a field behind the resources', text({}, 'Resources:', 'Request ID: a')],
])('refuses %s', (_, message) => {
  expect(faultOf(message)).toMatch(/^must follow EIP-4361: line \d+ /);
});

test('takes time in proportion to the length of a hostile text', () => {
  const long = 'a'.repeat(4_000);
  for (const message of [
    text({ 0: `${long}@${long}:` }),
    text({ 5: `URI: a:${'%'.repeat(4_000)}` }),
    text({ 5: `URI: a://${'@'.repeat(4_000)}` }),
    text({ 3: `${long}\u0000` }),
    '\n'.repeat(4_096),
  ])
    expect(faultOf(message)).toBeDefined();
});

test('never throws, and refuses any text to which one character was added outside of a free text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (random) => {
      parseSignInMessage(random);
      parseSignInMessage(text({ 3: random, 5: `URI: ${random}` }));
    }),
  );
  const whole = lines().join('\n');
  for (const at of [0, 1, 4].map(
    (line) =>
      lines()
        .slice(0, line + 1)
        .join('\n').length,
  ))
    expect(faultOf(`${whole.slice(0, at)} ${whole.slice(at)}`)).toBeDefined();
});
