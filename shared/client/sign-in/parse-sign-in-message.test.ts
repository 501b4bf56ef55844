import { parseSignInMessage } from './parse-sign-in-message.ts';
import { signInMessage } from './sign-in-message.ts';

const FIELDS = {
  domain: 'shop.example:8443',
  address: '0x52908400098527886E0F7030069857D2E4169EE7',
  chainId: 137,
  nonce: 'a1b2c3d4e5f6a7b8',
};
const message = (more: object = {}) =>
  signInMessage({ ...FIELDS, uri: 'https://shop.example:8443/vip', ...more });

test('reads the fields of a message', () => {
  expect(parseSignInMessage(message())).toEqual(FIELDS);
});

test.each([
  ['statement', { statement: 'Chain ID: 31337' }],
  ['request id', { requestId: 'Chain%20ID:31337' }],
  ['resources', { resources: ['chain:31337'] }],
])('reads the chain from its field alone, whatever the %s says', (_, more) => {
  expect(parseSignInMessage(message(more))).toEqual(FIELDS);
});

test.each([
  ['no text', undefined],
  ['a list that holds the message', [message()]],
  ['an empty text', ''],
  ['two lines of the chain', message().replace('Nonce: ', 'Chain ID: 31337\nNonce: ')],
  ['a statement of two lines', message({ statement: 'x' }).replace('\nx\n', '\nx\nChain ID: 31337\n')],
  ['a carriage return', message({ statement: 'x' }).replace('\nx\n', '\nx\rChain ID: 31337\n')],
  ['a line behind the message', `${message()}\nChain ID: 31337`],
  ['more than 4 KiB', message({ statement: 'x' }).replace('\nx\n', `\n${'x'.repeat(4_096)}\n`)],
])('throws for %s', (_, text) => {
  expect(() => parseSignInMessage(text)).toThrow(
    expect.objectContaining({ name: 'RolecallError', code: 'sign-in-malformed' }),
  );
});
