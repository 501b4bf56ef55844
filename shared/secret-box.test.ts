import { randomBytes } from 'node:crypto';
import { makeSecretBox, parseKeyRing } from './secret-box.ts';

const first = `1:${randomBytes(32).toString('base64')}`;
const second = `2:${randomBytes(32).toString('base64')}`;

test('a sealed secret opens only for its owner', () => {
  const box = makeSecretBox(parseKeyRing(first));
  const sealed = box.seal('whsec_abc', 'app_1');
  expect(sealed).not.toContain('whsec_abc');
  expect(box.open(sealed, 'app_1')).toBe('whsec_abc');
  expect(() => box.open(sealed, 'app_2')).toThrow();
});

test('a new key seals while the old one still opens', () => {
  const sealed = makeSecretBox(parseKeyRing(first)).seal('s', 'a');
  const both = makeSecretBox(parseKeyRing(`${first},${second}`));
  expect(both.open(sealed, 'a')).toBe('s');
  expect(both.seal('s', 'a').startsWith('2.')).toBe(true);
});

test('a secret that is sealed again opens without the previous key, and is not sealed a third time', () => {
  const sealed = makeSecretBox(parseKeyRing(first)).seal('s', 'a');
  const both = makeSecretBox(parseKeyRing(`${first},${second}`));
  const anew = both.reseal(sealed, 'a');
  expect(makeSecretBox(parseKeyRing(second)).open(anew, 'a')).toBe('s');
  expect(both.reseal(anew, 'a')).toBe(anew);
  expect(() => both.reseal(sealed, 'b')).toThrow();
});

test('a key that is not yet active decrypts secrets that other processes encrypted with it, and encrypts none', () => {
  const waiting = makeSecretBox(parseKeyRing(`${first},${second.replace(':', '?:')}`));
  const sealed = makeSecretBox(parseKeyRing(`${first},${second}`)).seal('s', 'a');
  expect(waiting.open(sealed, 'a')).toBe('s');
  expect(waiting.seal('s', 'a').startsWith('1.')).toBe(true);
});

test.each(['', 'x', '1:abc', `300:${'A'.repeat(43)}=`, `${first},${first}`, first.replace(':', '?:')])(
  'a malformed key ring is refused without telling any of it',
  (text) => expect(() => parseKeyRing(text)).toThrow(/^a key ring (is|needs at least one active key)/),
);
