import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { bodyOfCheck, stepsOfCheck } from './describe-check.ts';

const ADDRESS = `0x${'1'.repeat(40)}`;
const CHECK: CheckRequested = {
  requestId: 'r1',
  clientId: 'app_1',
  accountId: 'acc_1',
  keyId: 'key_1',
  account: ADDRESS,
  rules: [{ type: 'NATIVE', chainId: 1, minToken: '1', roleId: 'a' }],
  onUndetermined: 'omit',
  consistency: { blockTag: 'latest', minBlock: {} },
  delivery: { mode: 'sync', replyChannel: 'internal' },
  acceptedAt: '2026-11-21T10:00:00.000Z',
  deadlineAt: '2026-11-21T10:00:10.000Z',
  retainUntil: '2026-11-21T11:00:00.000Z',
  idempotency: { keyHash: 'h', bodyHash: 'b' },
};

test('a plain check has its wallet and its rules, and nothing that is internal', () => {
  expect(bodyOfCheck(CHECK)).toEqual({ account: ADDRESS, rules: CHECK.rules });
});

test('every option of the request is in the body, and the rules of a rule set as they were', () => {
  const body = bodyOfCheck({
    ...CHECK,
    accounts: [ADDRESS, `0x${'2'.repeat(40)}`],
    vaults: [`0x${'3'.repeat(40)}`],
    explain: true,
    proof: { seconds: 300, alg: 'ES256', rulesDigest: 'd' },
    onUndetermined: 'deny',
    consistency: { blockTag: 'safe', minBlock: { '1': 5 }, atBlock: { '10': 7 } },
    ruleSet: { id: 'vip', version: 2, digest: 'd' },
    delivery: { mode: 'poll' },
  });
  expect(body).toEqual({
    accounts: [ADDRESS, `0x${'2'.repeat(40)}`],
    vaults: [`0x${'3'.repeat(40)}`],
    explain: true,
    proof: true,
    proofSeconds: 300,
    proofAlg: 'ES256',
    onUndetermined: 'deny',
    consistency: { blockTag: 'safe', minBlock: { '1': 5 }, atBlock: { '10': 7 } },
    async: true,
    rules: CHECK.rules,
  });
  expect(
    bodyOfCheck({ ...CHECK, delivery: { mode: 'webhook', callbackUrl: 'https://e.com' } }),
  ).toMatchObject({
    callbackUrl: 'https://e.com',
  });
});

test('a webhook is delivered when its successful attempt ended, whatever came after it', () => {
  const logged = {
    requestId: 'r1',
    mode: 'webhook',
    status: 'completed',
    acceptedAtMs: Date.parse(CHECK.acceptedAt),
    durationMs: 12,
    granted: 1,
    denied: 0,
    undetermined: 0,
    codes: [],
    keyId: 'key_1',
    roleTags: [],
    request: { partition: 0, offset: 0 },
  } as const;
  const attempt = (at: string, name: string) => ({ at, durationMs: 30, class: name });
  const attempts = [
    attempt('2026-11-21T10:00:01.000Z', 'http-5xx'),
    attempt('2026-11-21T10:00:06.000Z', 'delivered'),
    attempt('2026-11-21T12:00:06.000Z', 'delivered'),
  ];
  expect(stepsOfCheck(logged, { attempts })).toEqual([
    { name: 'accepted', afterMs: 0 },
    { name: 'evaluated', afterMs: 12 },
    { name: 'delivered', afterMs: 6_030 },
  ]);
  expect(stepsOfCheck(logged, { attempts: attempts.slice(0, 1) })).toHaveLength(2);
});
