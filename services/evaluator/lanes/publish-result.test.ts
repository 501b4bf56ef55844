import { ServiceError } from '#shared/errors.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { aCheckCompleted } from '../../../test/support/builders/a-check-completed.ts';
import { aCheckResult } from '../../../test/support/builders/a-check-result.ts';
import { makePublishResult } from './publish-result.ts';

const SYNC = { mode: 'sync', replyChannel: 'results:g1' } as const;
const WEBHOOK = { mode: 'webhook', callbackUrl: 'https://hooks.example/' } as const;
const { mode: _, ...completed } = aCheckCompleted('app_1', {
  requestId: 'r1',
  chargedMonth: '2026-11',
  resultJson: '{"mine":true}',
});

/** Publishes over fakes that record every step, in order. */
function setUp({ stored, awayCount = 0 }: { stored?: string; awayCount?: number } = {}) {
  const steps: string[] = [];
  const published: { topic: string; message: unknown }[] = [];
  let left = awayCount;
  const publishResult = makePublishResult({
    results: {
      saveIfAbsent: async ({ resultJson, replyChannel }) => {
        if (left-- > 0) throw new ServiceError('store-unavailable', 'away');
        steps.push(`save and notify ${replyChannel}`);
        return stored ?? resultJson;
      },
    },
    publish: async ({ name }, message) => {
      steps.push(`publish ${name}`);
      published.push({ topic: name, message });
    },
  });
  const record = {
    traceparent: 'trace',
    signal: new AbortController().signal,
    alive: () => steps.push('alive'),
    park: () => steps.push('park'),
  } as unknown as RecordContext;
  const run = (delivery: Parameters<typeof publishResult>[0]['delivery']) =>
    publishResult({ ...completed, delivery }, 1, record);
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
    resultJson: '{"mine":true}',
    check: { keyId: 'key_1', decided: true, chargedMonth: '2026-11' },
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

test('repeats the save alone while Redis is away, and parks the record meanwhile', async () => {
  const { run, steps } = setUp({ awayCount: 1 });
  await run(SYNC);
  expect(steps).toEqual(['park', 'alive', 'save and notify results:g1', 'publish check.completed.v1']);
});
