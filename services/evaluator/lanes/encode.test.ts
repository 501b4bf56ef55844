import { ServiceError } from '#shared/errors.ts';
import { aRecord } from '../../../test/support/an-evaluator.ts';
import { aCheckRequested } from '../../../test/support/builders/a-check-requested.ts';
import { aCheckResult } from '../../../test/support/builders/a-check-result.ts';
import { makeEncode } from './encode.ts';

const AT = '2026-11-21T10:00:00.000Z';
const SYNC = { mode: 'sync', replyChannel: 'results:g1' } as const;
const WEBHOOK = { mode: 'webhook', callbackUrl: 'https://hooks.example/' } as const;
const check = aCheckRequested('app_1', { requestId: 'r1', chargedMonth: '2026-11' });
const resultJson = JSON.stringify({
  requestId: 'r1',
  ...{ status: 'completed', roles: [], errors: [], evaluatedAt: AT, blocks: {} },
});
const { requestId, clientId, accountId, keyId, acceptedAt, retainUntil, chargedMonth } = check;
const completed = {
  ...{ requestId, clientId, accountId, keyId, acceptedAt, retainUntil, chargedMonth },
  ...{ decided: true, startedAt: AT, request: { partition: 0, offset: 0 }, resultJson },
};

/** Answers over fakes that record every step, in order. */
function setUp({
  stored,
  awayCount = 0,
  brokerAwayCount = 0,
}: {
  stored?: string;
  awayCount?: number;
  brokerAwayCount?: number;
} = {}) {
  const steps: string[] = [];
  const published: { topic: string; message: unknown }[] = [];
  let [left, brokerLeft] = [awayCount, brokerAwayCount];
  const encode = makeEncode({
    results: {
      saveIfAbsent: async (saving) => {
        if (left-- > 0) throw new ServiceError('store-unavailable', 'away');
        steps.push(`save and notify ${saving.replyChannel}`);
        return stored ?? saving.resultJson;
      },
    },
    publish: async ({ name }, message) => {
      if (brokerLeft-- > 0) throw new ServiceError('broker-unavailable', 'away');
      steps.push(`publish ${name}`);
      published.push({ topic: name, message });
    },
  });
  const record = aRecord({ alive: () => steps.push('alive'), park: () => steps.push('park') });
  const run = async (delivery: typeof check.delivery, deadlineAt?: string) => {
    const answer = encode({ ...check, delivery, deadlineAt }, { evaluatedAt: AT, blocks: {} });
    answer.add(check, { status: 'completed', roles: [], errors: [] });
    await answer.publish(record, { startedAtMs: Date.parse(AT), observed: new Map() });
  };
  return { run, steps, published };
}

test('publishes the result of a polled check, and leaves its save to the result-store', async () => {
  const { run, steps, published } = setUp();
  await run({ mode: 'poll' });
  expect(steps).toEqual(['publish check.completed.v1']);
  expect(published[0]?.message).toEqual({ ...completed, mode: 'poll' });
});

test('publishes the result of a check with a webhook and its first delivery in one record', async () => {
  const { run, steps, published } = setUp();
  await run(WEBHOOK);
  expect(steps).toEqual(['publish webhook.requested.v1']);
  expect(published[0]?.message).toMatchObject({
    requestId: 'r1',
    callbackUrl: WEBHOOK.callbackUrl,
    attemptCount: 0,
    resendCount: 0,
    resultJson,
    check: { keyId, decided: true, chargedMonth, startedAt: AT },
  });
});

test('saves and announces the result of a sync check before it publishes the result', async () => {
  const { run, steps, published } = setUp();
  await run(SYNC);
  expect(steps).toEqual(['save and notify results:g1', 'publish check.completed.v1']);
  expect(published[0]?.message).toEqual({ ...completed, mode: 'sync' });
});

test('publishes what the client was told if another evaluator saved first, and what follows from it', async () => {
  const errors = [{ ruleIndex: 0, roleId: 'a', code: 'rpc-unavailable' }] as const;
  const stored = aCheckResult({ status: 'failed', errors });
  const { run, published } = setUp({ stored });
  await run(SYNC);
  expect(published[0]?.message).toEqual({ ...completed, mode: 'sync', resultJson: stored, decided: false });
});

test.each([
  ['at its deadline', 0, true],
  ['before it', 1, false],
])('a sync check that decided nothing and ended %s is charged: %s', async (_, leftMs, isCharged) => {
  const errors = [{ ruleIndex: 0, roleId: 'a', code: 'deadline-exceeded' }] as const;
  const evaluatedAt = '2026-11-21T10:00:00.000Z';
  const { run, published } = setUp({ stored: aCheckResult({ status: 'failed', errors, evaluatedAt }) });
  await run(SYNC, new Date(Date.parse(evaluatedAt) + leftMs).toISOString());
  expect(published[0]?.message).toMatchObject({ decided: isCharged });
});

test('repeats the publish alone while the broker is away: the client was told what was saved', async () => {
  const { run, steps } = setUp({ brokerAwayCount: 1 });
  await run(SYNC);
  expect(steps).toEqual(['save and notify results:g1', 'park', 'alive', 'publish check.completed.v1']);
});

test('repeats the save alone while Redis is away, and parks the record meanwhile', async () => {
  const { run, steps } = setUp({ awayCount: 1 });
  await run(SYNC);
  expect(steps).toEqual(['park', 'alive', 'save and notify results:g1', 'publish check.completed.v1']);
});
