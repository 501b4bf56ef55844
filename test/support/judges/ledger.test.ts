// A ledger that cannot fail proves nothing: each test feeds it one kind of broken history.
import { aCheckResult } from '../builders/a-check-result.ts';
import type { SentRule } from '../builders/demo-rules.ts';
import { type Evidence, Ledger } from './ledger.ts';

const rulesOf = (roleId: string): SentRule[] => [
  { type: 'NATIVE', chainId: 1, roleId },
  { type: 'NATIVE', chainId: 1, roleId },
];
const ROLES = [0, 1].map((i) => ({ id: `attempt-0#${i}`, granted: true }));
const RESULT = aCheckResult({ requestId: 'r1', roles: ROLES });
const ACCEPTED = { status: 202, text: '{"requestId":"r1"}' };

/** A complete history, with some of its evidence replaced. */
async function reconcile(
  changes: Partial<Evidence> = {},
  answer: typeof ACCEPTED | undefined = ACCEPTED,
  signsIn = false,
) {
  const ledger = new Ledger();
  const attempt = ledger.begin('webhook', '0x00', rulesOf, signsIn);
  if (answer) ledger.end(attempt, answer);
  return ledger.reconcile({
    polled: new Map([['r1', RESULT]]),
    deliveries: [{ requestId: 'r1', body: RESULT, verified: true }],
    oracle: async () => true,
    ...changes,
  });
}
const delivery = (body: string, more = {}) => ({ requestId: 'r1', body, verified: true, ...more });

test('a complete history has no fault, and a repeated delivery is counted', async () => {
  const twice = await reconcile({ deliveries: [delivery(RESULT), delivery(RESULT)] });
  expect(twice).toMatchObject({ broken: [], counts: { acknowledged: 1, duplicates: 1 } });
});

test('an acknowledged check without a result is lost', async () => {
  expect((await reconcile({ polled: new Map() })).faults.lost).toEqual(['r1']);
});

test('an acknowledged webhook check that was never delivered is undelivered, unless visibly given up', async () => {
  expect((await reconcile({ deliveries: [] })).faults.undelivered).toEqual(['r1']);
  expect((await reconcile({ deliveries: [], givenUp: new Set(['r1']) })).broken).toEqual([]);
});

test('a delivery with an invalid signature does not count as a delivery', async () => {
  const forged = await reconcile({ deliveries: [delivery(RESULT, { verified: false })] });
  expect(forged.broken).toEqual(['undelivered', 'unverified']);
});

test('an indeterminate attempt may have an effect, and a refused one may not', async () => {
  const refused = { status: 429, text: '{}' };
  expect((await reconcile({}, { status: 503, text: '{}' })).broken).toEqual([]);
  expect(
    (await reconcile({ polled: new Map(), deliveries: [] }, { status: 503, text: '{}' })).broken,
  ).toEqual([]);
  expect((await reconcile({}, refused)).faults.unexpected).toEqual(['r1 of a check answered 429']);
});

test.each([
  ['of an unknown role', aCheckResult({ requestId: 'r1', roles: [{ id: 'stranger', granted: true }] })],
  ['under another id', aCheckResult({ requestId: 'r2', roles: ROLES })],
  ['that is not a result', '{"oops":true}'],
])('a result %s is unexpected', async (_, body) => {
  const odd = { polled: new Map([['r1', body]]), deliveries: [delivery(body)] };
  expect((await reconcile(odd)).faults.unexpected).toEqual(['r1']);
});

test('two bodies of one request contradict each other, and so do two requests of one attempt', async () => {
  const other = aCheckResult({ requestId: 'r1', roles: ROLES, evaluatedAt: '2026-01-01T00:00:09.000Z' });
  expect((await reconcile({ deliveries: [delivery(other)] })).faults.contradictory).toEqual(['r1']);
  const second = aCheckResult({ requestId: 'r2', roles: ROLES });
  const twice = new Map([
    ['r1', RESULT],
    ['r2', second],
  ]);
  const unknown = await reconcile({ polled: twice }, { status: 503, text: '{}' });
  expect(unknown.faults.contradictory).toEqual(['r2']);
});

test('a verdict that differs from the chain is wrong', async () => {
  expect((await reconcile({ oracle: async () => false })).faults.wrong).toEqual(['r1']);
});

test('a rule without a verdict is wrong unless it has an error', async () => {
  const roles = ROLES.slice(0, 1);
  const short = aCheckResult({ requestId: 'r1', roles });
  const errors = [{ ruleIndex: 1, roleId: 'attempt-0#1', code: 'rpc-timeout' as const }];
  const honest = aCheckResult({ requestId: 'r1', roles, errors });
  const both = (body: string) => ({ polled: new Map([['r1', body]]), deliveries: [delivery(body)] });
  expect((await reconcile(both(short))).faults.wrong).toEqual(['r1']);
  expect(await reconcile(both(honest))).toMatchObject({ broken: [], counts: { undetermined: 1 } });
});

test('roles without the proof that the check asked for are wrong', async () => {
  const wrongOf = async (body: string) => {
    const evidence = { polled: new Map([['r1', body]]), deliveries: [delivery(body)] };
    return (await reconcile(evidence, ACCEPTED, true)).faults.wrong;
  };
  const signIn = [{ account: '0x00', outcome: 'proved' as const }];
  expect(await wrongOf(aCheckResult({ requestId: 'r1', roles: ROLES, signIn }))).toEqual([]);
  expect(await wrongOf(RESULT)).toEqual(['r1']);
});
