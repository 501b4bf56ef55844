import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { CheckResult } from '#shared/contracts/checks/result.ts';
import { aCheckRequested } from '../../../test/support/builders/a-check-requested.ts';
import { composeResult, failWith, faultsOf, makeOutcomes, nameRule, originOf } from './compose-result.ts';
import type { Verdict } from './judge-rules.ts';

const AT = '2026-11-21T10:00:00.000Z';
const aCheck = (over: Partial<CheckRequested> = {}): CheckRequested =>
  aCheckRequested('app_1', {
    requestId: 'req_1',
    accountId: 'acc_1',
    account: `0x${'aa'.repeat(20)}`,
    rules: [
      { type: 'NATIVE', chainId: 1, roleId: 'a', minToken: '1' },
      { type: 'ERC20', chainId: 5, contractAddress: `0x${'Bb'.repeat(20)}`, roleId: 'b', minToken: '1' },
    ],
    acceptedAt: AT,
    retainUntil: AT,
    chargedMonth: '2026-11',
    ...over,
  });
const granted: Verdict = { outcome: 'granted' };
const denied: Verdict = { outcome: 'denied' };
const unread: Verdict = { outcome: 'undetermined', code: 'rpc-timeout' };
const missing: Verdict = { outcome: 'undetermined', code: 'contract-not-found' };
const evaluation = { blocks: {}, evaluatedAt: AT };
const compose = (over: Partial<CheckRequested>, ...verdicts: Verdict[]) => {
  const check = aCheck(over);
  const { resultJson, decided } = composeResult(check, makeOutcomes(check)(verdicts), evaluation);
  return { decided, ...CheckResult.parse(JSON.parse(resultJson)) };
};

test('decided rules are in the order of the rules, and an unread one is an error with its own text', () => {
  expect(compose({}, granted, unread)).toEqual({
    decided: true,
    requestId: 'req_1',
    status: 'completed',
    roles: [{ id: 'a', granted: true }],
    errors: [
      {
        ruleIndex: 1,
        roleId: 'b',
        code: 'rpc-timeout',
        message: expect.any(String),
        retryable: true,
        chainId: 5,
        contractAddress: `0x${'Bb'.repeat(20)}`,
      },
    ],
    evaluatedAt: AT,
    blocks: {},
  });
});

test.each([
  ['omit', [denied, unread], 'completed', [['a', false]], true],
  ['omit', [unread, unread], 'failed', [], false],
  ['omit', [missing, missing], 'failed', [], true],
  ['omit', [unread, missing], 'failed', [], true],
  [
    'deny',
    [granted, unread],
    'completed',
    [
      ['a', true],
      ['b', false],
    ],
    true,
  ],
  [
    'deny',
    [unread, unread],
    'completed',
    [
      ['a', false],
      ['b', false],
    ],
    false,
  ],
  ['fail', [granted, unread], 'failed', [], true],
  ['fail', [granted, missing], 'failed', [], true],
  ['fail', [unread, unread], 'failed', [], false],
  [
    'fail',
    [granted, denied],
    'completed',
    [
      ['a', true],
      ['b', false],
    ],
    true,
  ],
] as const)('%s of %j is %s with %j, charged: %s', (onUndetermined, verdicts, status, roles, isCharged) => {
  const result = compose({ onUndetermined }, ...verdicts);
  expect(result.status).toBe(status);
  expect(result.roles.map(({ id, granted: isGranted }) => [id, isGranted])).toEqual(roles);
  expect(result.decided).toBe(isCharged);
  expect(result.errors).toHaveLength(verdicts.filter(({ outcome }) => outcome === 'undetermined').length);
});

test('a proof is part of the result, and without one its bytes do not change', () => {
  const outcome = makeOutcomes(aCheck())([granted, denied]);
  const composeWith = (proof: string | undefined) =>
    composeResult(aCheck(), outcome, evaluation, { proof }).resultJson;
  expect(JSON.parse(composeWith('a.b.c'))).toEqual({ ...JSON.parse(composeWith(undefined)), proof: 'a.b.c' });
  expect(composeWith(undefined)).not.toContain('proof');
});

test('the result carries the fields that its consumers need', () => {
  const outcome = makeOutcomes(aCheck())([granted, denied]);
  const { requestId, clientId, keyId, delivery, acceptedAt, retainUntil, chargedMonth } = composeResult(
    aCheck(),
    outcome,
    evaluation,
  );
  expect({ requestId, clientId, keyId, delivery, acceptedAt, retainUntil, chargedMonth }).toEqual({
    requestId: 'req_1',
    clientId: 'app_1',
    keyId: 'key_1',
    delivery: { mode: 'poll' },
    acceptedAt: AT,
    retainUntil: AT,
    chargedMonth: '2026-11',
  });
});

const composeFailure = (check: CheckRequested) =>
  composeResult(check, failWith(faultsOf(check.rules.map(nameRule))), evaluation);

test('a check that could not be evaluated fails with internal for every rule, even with onUndetermined deny', () => {
  const { resultJson, decided } = composeFailure(aCheck({ onUndetermined: 'deny' }));
  const { status, roles, errors } = CheckResult.parse(JSON.parse(resultJson));
  expect({ decided, status, roles }).toEqual({ decided: false, status: 'failed', roles: [] });
  expect(errors.map(({ code }) => code)).toEqual(['internal', 'internal']);
});

test('the result and the failure of a check by a rule set name its version', () => {
  const ruleSet = { id: 'holders', version: 3, digest: 'sha-256=:x:' };
  expect(compose({ ruleSet }, granted, denied).ruleSet).toEqual(ruleSet);
  const { resultJson } = composeFailure(aCheck({ ruleSet }));
  expect(CheckResult.parse(JSON.parse(resultJson)).ruleSet).toEqual(ruleSet);
});

test('the times of blocks are in ms, and an absurd one of a broken endpoint is left out', () => {
  const chain = (timestamp: number) => ({
    ...{ quorum: 1, observations: [] },
    block: { number: 1, hash: '0x', timestamp, proved: true },
  });
  const observed = new Map([
    [1, chain(1_700_000_000)],
    [5, chain(0xfffffffffffff)],
  ]);
  expect(originOf(observed).blockTimes).toEqual({ '1': 1_700_000_000_000 });
});

test.each([
  [true, false],
  [false, true],
])(
  'a check of a wallet that is not proved is charged unless another try may prove it: %s',
  (retryable, decided) => {
    const account = `0x${'aa'.repeat(20)}`;
    const fault = { account, code: 'sign-in-unread' as const, message: 'unread', retryable, chainId: 1 };
    expect(composeResult(aCheck(), failWith([fault]), evaluation).decided).toBe(decided);
  },
);
