import type { NewWebhook } from '#shared/contracts/webhooks/webhook.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { aBatchPartCompleted } from '../../../test/support/builders/a-batch.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { Dependencies } from '../dependencies.ts';
import { makePartHandler } from './handle-part.ts';

const CALLBACK = { mode: 'webhook', callbackUrl: 'https://hooks.example/x' } as const;
const part = aBatchPartCompleted('app_1', { requestId: 'req_1', delivery: CALLBACK });
const status = {
  requestId: 'req_1',
  status: 'completed' as const,
  entries: 4,
  done: 4,
  roles: part.roles,
  acceptedAt: part.acceptedAt,
  completedAt: part.evaluatedAt,
};
const record = { traceparent: 'trace' } as RecordContext;

function makeHandler(saved: { isFirst: boolean; isComplete: boolean }) {
  const webhooks: NewWebhook[] = [];
  let countedParts = 0;
  const handle = makePartHandler(
    partially<Dependencies>({
      batches: { savePart: async () => saved, readStatus: async () => status },
      kafka: { publish: async (_, message) => void webhooks.push(message as NewWebhook) },
      metrics: {
        countEntries: () => {
          countedParts += 1;
        },
      },
    }),
  );
  return { handle, webhooks, countedParts: () => countedParts };
}

test('the last part of a batch publishes its webhook, whose body is the status with a type', async () => {
  const { handle, webhooks } = makeHandler({ isFirst: true, isComplete: true });
  await handle(part, record);
  expect(webhooks).toMatchObject([
    {
      requestId: 'req_1',
      clientId: 'app_1',
      callbackUrl: CALLBACK.callbackUrl,
      attemptCount: 0,
      resendCount: 0,
    },
  ]);
  expect(JSON.parse(webhooks[0]?.resultJson ?? '')).toEqual({ type: 'batch.completed', ...status });
});

test('a copy of a part publishes the webhook of a complete batch again, byte for byte, and counts nothing', async () => {
  const { handle, webhooks, countedParts } = makeHandler({ isFirst: false, isComplete: true });
  await handle(part, record);
  await handle(part, record);
  expect(webhooks).toHaveLength(2);
  expect(webhooks[1]).toEqual(webhooks[0]);
  expect(countedParts()).toBe(0);
});

test.each([
  ['a part before the last one', { isComplete: false }, part],
  ['a batch without a callback', { isComplete: true }, { ...part, delivery: { mode: 'poll' as const } }],
])('%s publishes no webhook', async (_, { isComplete }, message) => {
  const { handle, webhooks, countedParts } = makeHandler({ isFirst: true, isComplete });
  await handle(message, record);
  expect(webhooks).toEqual([]);
  expect(countedParts()).toBe(1);
});
