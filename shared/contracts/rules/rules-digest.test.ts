import { createHash } from 'node:crypto';
import { digestOfRules } from './rules-digest.ts';

const RULE = { type: 'NATIVE', chainId: 1, roleId: 'whale' };

test('the digest is SHA-256 over the canonical JSON, in the form of RFC 9530', () => {
  const text = '{"onUndetermined":"omit","rules":[{"chainId":1,"roleId":"whale","type":"NATIVE"}]}';
  expect(digestOfRules([RULE], 'omit')).toBe(
    `sha-256=:${createHash('sha256').update(text).digest('base64')}:`,
  );
});

test('the order of members does not change the digest, the order of rules does', () => {
  const other = { ...RULE, roleId: 'shrimp' };
  expect(digestOfRules([{ roleId: 'whale', chainId: 1, type: 'NATIVE' }], 'omit')).toBe(
    digestOfRules([RULE], 'omit'),
  );
  expect(digestOfRules([RULE, other], 'omit')).not.toBe(digestOfRules([other, RULE], 'omit'));
  expect(digestOfRules([RULE], 'deny')).not.toBe(digestOfRules([RULE], 'omit'));
});
