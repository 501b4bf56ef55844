import type { ProducerBatch, RecordMetadata } from 'kafkajs';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { BatchingProducer } from './batching-producer.ts';

type Sent = { batch: ProducerBatch; answer: (error?: Error) => void };

/** A broker that answers when the test says so. */
function makeBroker() {
  const sent: Sent[] = [];
  const waiting: (() => void)[] = [];
  const sendBatch = (batch: ProducerBatch) =>
    new Promise<RecordMetadata[]>((resolve, reject) => {
      sent.push({ batch, answer: (error) => (error ? reject(error) : resolve([])) });
      for (const wake of waiting.splice(0)) wake();
    });
  const requests = async (count: number) => {
    while (sent.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
    return sent;
  };
  return { sendBatch, requests, sent };
}

afterEach(() => void jest.useRealTimers());

const LONG_MS = 60_000;
const values = (batch: ProducerBatch) =>
  batch.topicMessages?.flatMap(({ messages }) => messages.map(({ value }) => String(value))) ?? [];

test('records published while requests are in flight go out together in the next request', async () => {
  const broker = makeBroker();
  const producer = new BatchingProducer(broker, makeSilentLogger());
  const first = producer.send('a', { value: '1' }, LONG_MS);
  await broker.requests(1);
  const second = producer.send('a', { value: '2' }, LONG_MS);
  await broker.requests(2);
  const rest = [3, 4, 5].map((n) => producer.send(n === 5 ? 'b' : 'a', { value: `${n}` }, LONG_MS));
  broker.sent[0]?.answer();
  await first;
  await broker.requests(3);
  expect(values(broker.sent[2]?.batch as ProducerBatch)).toEqual(['3', '4', '5']);
  for (const request of broker.sent) request.answer();
  await Promise.all([second, ...rest]);
});

test('an urgent record goes out before all waiting records', async () => {
  const broker = makeBroker();
  const producer = new BatchingProducer(broker, makeSilentLogger());
  const publish = (value: string, isUrgent = false) => producer.send('a', { value }, LONG_MS, isUrgent);
  const all = [publish('1')];
  await broker.requests(1);
  all.push(publish('2'));
  await broker.requests(2);
  // More than one request carries: the urgent record is in the next request all the same.
  all.push(...Array.from({ length: 1_500 }, (_, i) => publish(`backlog ${i}`)), publish('now', true));
  broker.sent[0]?.answer();
  await broker.requests(3);
  const next = values(broker.sent[2]?.batch as ProducerBatch);
  expect(next.slice(0, 2)).toEqual(['now', 'backlog 0']);
  expect(next).toHaveLength(1_000);
  broker.sent[1]?.answer();
  await broker.requests(4);
  for (const request of broker.sent) request.answer();
  await Promise.all(all);
});

test('a batch that was not acknowledged is sent again whole', async () => {
  const broker = makeBroker();
  const producer = new BatchingProducer(broker, makeSilentLogger());
  const both = Promise.all(['1', '2'].map((value) => producer.send('a', { value }, LONG_MS)));
  (await broker.requests(1))[0]?.answer(new Error('leader gone'));
  (await broker.requests(2))[1]?.answer();
  await both;
  expect(values(broker.sent[1]?.batch as ProducerBatch)).toEqual(['1', '2']);
});

const refusal = (type: string) =>
  Object.assign(new Error(type), { name: 'KafkaJSProtocolError', type, retriable: false });

test('only the message that causes the broker to refuse a batch fails, and at once', async () => {
  const written: string[] = [];
  const producer = new BatchingProducer(
    {
      async sendBatch(batch) {
        if (values(batch).includes('huge')) throw refusal('MESSAGE_TOO_LARGE');
        if (values(batch).includes('forbidden')) throw refusal('TOPIC_AUTHORIZATION_FAILED');
        written.push(...values(batch));
        return [];
      },
    },
    makeSilentLogger(),
  );
  const publish = (value: string) => producer.send('a', { value }, LONG_MS);
  const outcomes = await Promise.allSettled(['1', 'huge', '2', '3', 'forbidden', '4', '5'].map(publish));
  expect(outcomes.map((one) => (one.status === 'rejected' ? one.reason.code : 'written'))).toEqual([
    ...['written', 'message-too-large', 'written', 'written', 'publish-unknown', 'written', 'written'],
  ]);
  expect(written).toEqual(['1', '2', '3', '4', '5']);
  await producer.drain();
});

test('a message in flight past its time has an unknown outcome; one still queued was surely not published', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  const broker = makeBroker();
  const producer = new BatchingProducer(broker, makeSilentLogger());
  const inFlight = ['1', '2'].map((value) => producer.send('a', { value }, 50));
  await broker.requests(1);
  const third = producer.send('a', { value: '3' }, 50);
  await broker.requests(2);
  const queued = producer.send('a', { value: '4' }, 1);
  const outcomes = Promise.allSettled([...inFlight, third, queued]);
  jest.advanceTimersByTime(50);
  expect((await outcomes).map((one) => one.status === 'rejected' && one.reason.code)).toEqual([
    ...Array(3).fill('publish-unknown'),
    'broker-unavailable',
  ]);
  for (const request of broker.sent) request.answer();
  await producer.drain();
  expect(broker.sent.flatMap(({ batch }) => values(batch))).toEqual(['1', '2', '3']);
});
