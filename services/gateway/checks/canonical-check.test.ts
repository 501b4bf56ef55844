import { canonicalOf } from './canonical-check.ts';
import { CheckBody } from './check-body.ts';

const A = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
const B = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc';
const BODY: CheckBody = { account: A, rules: [{ type: 'NATIVE', chainId: 1, roleId: 'r' }] };

/** Fields that do not change the check. */
const IGNORED: readonly string[] = [];

/** For each field of a request two values that make two different checks, or the fields with which
 * they do. */
const CHANGES: Record<string, readonly [Partial<CheckBody>, Partial<CheckBody>]> = {
  account: [{}, { account: B }],
  accounts: [
    { account: undefined, accounts: [A, B] },
    { account: undefined, accounts: [A] },
  ],
  vaults: [{}, { vaults: [B] }],
  rules: [{}, { rules: [{ type: 'NATIVE', chainId: 1, roleId: 'other' }] }],
  ruleSet: [
    { rules: undefined, ruleSet: 'members' },
    { rules: undefined, ruleSet: 'guests' },
  ],
  callbackUrl: [{}, { callbackUrl: 'https://example.com/hook' }],
  async: [{}, { async: true }],
  onUndetermined: [{}, { onUndetermined: 'deny' }],
  consistency: [{}, { consistency: { blockTag: 'safe' } }],
  explain: [{}, { explain: true }],
  proof: [{}, { proof: true }],
  proofSeconds: [
    { proof: true, proofSeconds: 60 },
    { proof: true, proofSeconds: 90 },
  ],
  proofAlg: [{ proof: true }, { proof: true, proofAlg: 'ES256' }],
  signIn: [
    { signIn: [{ message: 'one', signature: '0x' }] },
    { signIn: [{ message: 'another', signature: '0x' }] },
  ],
};

const textOf = (change: Partial<CheckBody>): string => {
  const body = { ...BODY, ...change };
  return canonicalOf(body, body.callbackUrl);
};

test.each(Object.keys(CheckBody.shape).filter((name) => !IGNORED.includes(name)))(
  'a retry with another %s is another check',
  (name) => {
    const [one, other] = CHANGES[name] ?? [{}, {}];
    expect(textOf(one)).not.toBe(textOf(other));
  },
);
