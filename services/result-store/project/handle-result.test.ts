import type { BodyRecord } from '#shared/stores/checks/results.ts';
import { aCheckCompleted, aWebhookOfCheck } from '../../../test/support/builders/a-check-completed.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { Dependencies } from '../dependencies.ts';
import { makeResultHandler } from './handle-result.ts';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const kept = { requestId: 'r1', retainUntil: new Date(NOW + 1).toISOString(), resultJson: '{"n":1}' };
const ended = { ...kept, retainUntil: new Date(NOW).toISOString() };

async function savedOf(bodies: readonly BodyRecord[], { isStored = false } = {}): Promise<string[]> {
  const saved: string[] = [];
  const handle = makeResultHandler(
    partially<Dependencies>({
      results: {
        has: async () => isStored,
        saveIfAbsent: async ({ requestId, resultJson, replyChannel }) => {
          saved.push(`${requestId} ${resultJson}${replyChannel ?? ''}`);
          return resultJson;
        },
      },
      now: () => NOW,
    }),
  );
  for (const body of bodies) await handle(body);
  return saved;
}

test('saves every result and every body of a webhook, and notifies no client of a sync check again', async () => {
  const event = { ...aWebhookOfCheck('app_1', kept), check: undefined };
  const bodies = [
    aCheckCompleted('app_1', { ...kept, mode: 'poll' }),
    aCheckCompleted('app_1', { ...kept, mode: 'sync' }),
    aWebhookOfCheck('app_1', kept),
    event,
  ];
  expect(await savedOf(bodies)).toEqual(bodies.map(() => 'r1 {"n":1}'));
});

test('saves the result of a sync check and the body of a webhook only if they are not stored', async () => {
  const bodies = [
    aCheckCompleted('app_1', { ...kept, mode: 'sync' }),
    aWebhookOfCheck('app_1', kept),
    { ...aWebhookOfCheck('app_1', kept), check: undefined },
  ];
  expect(await savedOf(bodies, { isStored: true })).toEqual([]);
  expect(await savedOf(bodies)).toEqual(bodies.map(() => 'r1 {"n":1}'));
});

test('saves the result of a polled check without a look: nobody else does', async () => {
  const polled = aCheckCompleted('app_1', { ...kept, mode: 'poll' });
  expect(await savedOf([polled], { isStored: true })).toHaveLength(1);
});

test('past its retention saves only the result of a polled check, which nobody else has counted', async () => {
  expect(await savedOf([aCheckCompleted('app_1', { ...ended, mode: 'poll' })])).toHaveLength(1);
  expect(await savedOf([aCheckCompleted('app_1', { ...ended, mode: 'sync' })])).toEqual([]);
  expect(await savedOf([aWebhookOfCheck('app_1', ended)])).toEqual([]);
});
