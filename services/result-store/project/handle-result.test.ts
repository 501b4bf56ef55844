import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { aCheckCompleted } from '../../../test/support/builders/a-check-completed.ts';
import { makeResultHandler } from './handle-result.ts';

const aResult = (over: Partial<CheckCompleted> = {}): CheckCompleted =>
  aCheckCompleted('app_1', {
    requestId: 'r1',
    accountId: 'acc_1',
    delivery: { mode: 'sync', replyChannel: 'results:g1' },
    acceptedAt: '2026-11-21T10:00:00.000Z',
    retainUntil: '2026-11-21T11:00:00.000Z',
    resultJson: '{"first":true}',
    ...over,
  });

function makeStore() {
  const stored = new Map<string, string>();
  const events: string[] = [];
  const handle = makeResultHandler({
    results: {
      saveIfAbsent: async ({ requestId, resultJson, replyChannel }) => {
        events.push(`save for ${replyChannel ?? 'nobody'}`);
        if (!stored.has(requestId)) stored.set(requestId, resultJson);
        return stored.get(requestId) ?? '';
      },
    },
    observe: (_message, kind) => void events.push(kind),
  });
  return { handle: (message: CheckCompleted) => handle(message, {} as RecordContext), stored, events };
}

test('the save of a result notifies the waiting gateway', async () => {
  const { handle, events } = makeStore();
  await handle(aResult());
  expect(events).toEqual(['save for results:g1', 'first']);
});

test('the first result wins, and a later copy notifies as well', async () => {
  const { handle, stored, events } = makeStore();
  await handle(aResult());
  await handle(aResult({ resultJson: '{"first":false}' }));
  expect(stored.get('r1')).toBe('{"first":true}');
  expect(events.slice(2)).toEqual(['save for results:g1', 'copy']);
});

test('no gateway is notified of a check that none waits for', async () => {
  const { handle, events } = makeStore();
  await handle(aResult({ delivery: { mode: 'poll' } }));
  expect(events).toEqual(['save for nobody', 'first']);
});
