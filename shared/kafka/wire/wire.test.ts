import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import type { Message } from 'kafkajs';
import { decodeFetch, type FetchResponse } from './decode-fetch.ts';
import { patchProtocol } from './patch-protocol.ts';

// kafkajs's own codecs: the codecs of this folder must not differ from them in a byte.
const load = createRequire(__filename);
type Encoded = { readonly buffer: Buffer };
type Exchange = {
  readonly request: { readonly encode: () => Promise<Encoded> };
  readonly response: { readonly decode: (payload: Buffer) => Promise<FetchResponse> };
};
const { requests } = load('kafkajs/src/protocol/requests') as {
  readonly requests: Record<
    'Fetch' | 'Produce',
    { readonly protocol: (version: { version: number }) => (options: object) => Exchange }
  >;
};
const protocols = () => ({
  produce: requests.Produce.protocol({ version: 7 }),
  fetch: requests.Fetch.protocol({ version: 11 }),
});
const { produce: produceOfKafkajs, fetch: fetchOfKafkajs } = protocols();
patchProtocol();
const patched = protocols();
const Encoder = load('kafkajs/src/protocol/encoder') as new () => Writer;
type Writer = Encoded & {
  writeInt32: (value: number) => Writer;
  writeInt16: (value: number) => Writer;
  writeInt64: (value: string) => Writer;
  writeString: (value: string) => Writer;
  writeBuffer: (value: Buffer) => Writer;
};

const text = fc.string({ unit: 'binary', maxLength: 300 });
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const header = fc.oneof(text, bytes, fc.array(text, { minLength: 2, maxLength: 3 }));
// kafkajs mixes a header that is named like a member of every object, such as `toString`, with that
// member.
const headerName = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 20 })
  .filter((name) => !(name in Object.prototype));
const aMessage: fc.Arbitrary<Message> = fc.record({
  key: fc.oneof(text, bytes, fc.constant(null)),
  value: fc.oneof(text, bytes, fc.constant(null)),
  headers: fc.dictionary(headerName, header, { maxKeys: 3, noNullPrototype: true }),
});
const aRequest = fc.record({
  acks: fc.constant(-1),
  timeout: fc.integer({ min: 0, max: 60_000 }),
  producerId: fc.constant(-1),
  producerEpoch: fc.constant(0),
  topicData: fc.array(
    fc.record({
      topic: fc.string({ maxLength: 20 }),
      partitions: fc.array(
        fc.record({
          partition: fc.nat(1_000),
          firstSequence: fc.constant(0),
          messages: fc.array(aMessage, { minLength: 1, maxLength: 80 }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
    { maxLength: 2 },
  ),
});
const NOW_MS = Date.UTC(2026, 10, 23);

beforeAll(() => void jest.useFakeTimers({ now: NOW_MS, doNotFake: ['nextTick', 'setImmediate'] }));
afterAll(() => void jest.useRealTimers());

test('a produce request has the bytes that kafkajs writes', async () => {
  const isSame = async (request: typeof aRequest extends fc.Arbitrary<infer R> ? R : never) => {
    const { buffer } = await produceOfKafkajs(request).request.encode();
    expect((await patched.produce(request).request.encode()).buffer).toEqual(buffer);
  };
  await fc.assert(fc.asyncProperty(aRequest, isSame), { numRuns: 200 });
});

test('a fetch request has the bytes that kafkajs writes', async () => {
  const partition = fc.record({
    partition: fc.nat(1_000),
    fetchOffset: fc.maxSafeNat().map(String),
    maxBytes: fc.nat(),
  });
  const topics = fc.array(
    fc.record({ topic: fc.string({ maxLength: 20 }), partitions: fc.array(partition, { maxLength: 30 }) }),
    { maxLength: 3 },
  );
  const isSame = async (asked: typeof topics extends fc.Arbitrary<infer T> ? T : never) => {
    // kafkajs's broker names the members without a value.
    const options = {
      replicaId: undefined,
      maxWaitTime: 1_000,
      minBytes: 1,
      maxBytes: 1e7,
      isolationLevel: 1,
      rackId: '',
    };
    const { buffer } = await fetchOfKafkajs({ ...options, topics: asked }).request.encode();
    expect((await patched.fetch({ ...options, topics: asked }).request.encode()).buffer).toEqual(buffer);
  };
  await fc.assert(fc.asyncProperty(topics, isSame), { numRuns: 200 });
});

type Part = { readonly errorCode?: number; readonly records: Buffer };

/** A fetch response of one topic. */
function responseOf(parts: readonly Part[]): Buffer {
  const out = new Encoder().writeInt32(0).writeInt16(0).writeInt32(0).writeInt32(1).writeString('t');
  out.writeInt32(parts.length);
  for (const [partition, { errorCode = 0, records }] of parts.entries()) {
    out.writeInt32(partition).writeInt16(errorCode).writeInt64('9007199254740991');
    out.writeInt64('0').writeInt64('0').writeInt32(0).writeInt32(-1);
    out.writeInt32(records.length).writeBuffer(records);
  }
  return out.buffer;
}

/** The record batch of some messages, as in a produce request and in a fetch response. */
async function batchOf(messages: readonly Message[], compression = 0): Promise<Buffer> {
  const topicData = [{ topic: 't', partitions: [{ partition: 0, firstSequence: 0, messages }] }];
  const { buffer } = await produceOfKafkajs({
    acks: -1,
    timeout: 0,
    topicData,
    compression,
  }).request.encode();
  // Behind the transaction, acks, timeout, the two counts, the topic, the partition and the size.
  return buffer.subarray(2 + 2 + 4 + 4 + 3 + 4 + 4 + 4);
}

const neverOther = () => Promise.reject(new Error('these records are plain'));
const decodeByKafkajs = (payload: Buffer) => fetchOfKafkajs({}).response.decode(payload);

/** The part of a response that the consumer uses: the partitions with records or an error. */
const shown = ({ responses }: FetchResponse) =>
  responses.map(({ topicName, partitions }) => ({
    topicName,
    partitions: partitions
      .filter(({ messages, errorCode }) => messages.length > 0 || errorCode !== 0)
      .map(({ partition, errorCode, highWatermark, preferredReadReplica, messages }) => ({
        partition,
        errorCode,
        highWatermark,
        preferredReadReplica,
        messages: messages.map(({ offset, timestamp, key, value, headers }) => ({
          offset,
          timestamp,
          key,
          value,
          headers,
        })),
      })),
  }));

test('a fetch response is decoded as kafkajs decodes it, also if its last batch is cut off', async () => {
  const batches = fc.array(fc.array(aMessage, { minLength: 1, maxLength: 20 }), { maxLength: 3 });
  const isSame = async (many: Message[][], cutBytes: number) => {
    const records = Buffer.concat(await Promise.all(many.map((each) => batchOf(each))));
    // Of less than a batch's head kafkajs reads past the end.
    const cut = records.subarray(0, Math.max(Math.min(records.length, 61), records.length - cutBytes));
    const payload = responseOf([
      { records },
      { records: Buffer.alloc(0) },
      { records: cut },
      { records: cut, errorCode: 3 },
    ]);
    expect(shown(await decodeFetch(payload, neverOther))).toEqual(shown(await decodeByKafkajs(payload)));
  };
  await fc.assert(fc.asyncProperty(batches, fc.nat(400), isSame), { numRuns: 100 });
});

test('a header may be named like a member of every object', async () => {
  const sent = Object.fromEntries(['__proto__', 'toString', 'constructor'].map((name) => [name, name]));
  const records = await batchOf([{ key: 'a', value: 'b', headers: sent }]);
  const { responses } = await decodeFetch(responseOf([{ records }]), neverOther);
  const headers = responses[0]?.partitions[0]?.messages[0]?.headers ?? {};
  expect(Object.entries(headers).map(([name, value]) => [name, String(value)])).toEqual(Object.entries(sent));
});

test('compressed, transactional and stamped records are encoded by kafkajs', async () => {
  const messages = [{ key: 'a', value: 'b' }];
  const plain = { acks: -1, timeout: 0, producerId: -1, producerEpoch: 0, transactionalId: undefined };
  const requestOf = (over: object, message: object = {}) => ({
    ...plain,
    ...over,
    topicData: [
      {
        topic: 't',
        partitions: [{ partition: 0, firstSequence: 0, messages: [{ ...messages[0], ...message }] }],
      },
    ],
  });
  for (const request of [
    requestOf({}),
    requestOf({ compression: 1 }),
    requestOf({ transactionalId: 'x', producerId: 7 }),
    requestOf({}, { timestamp: '1' }),
  ]) {
    const { buffer } = await produceOfKafkajs(request).request.encode();
    expect((await patched.produce(request).request.encode()).buffer).toEqual(buffer);
  }
});

test('partitions without records are left out', async () => {
  const records = await batchOf([{ key: 'a', value: 'b' }]);
  const none = { records: Buffer.alloc(0) };
  const { responses } = await decodeFetch(responseOf([none, { records }, none]), neverOther);
  expect(responses[0]?.partitions.map(({ partition }) => partition)).toEqual([1]);
});

test('compressed records are handed on with their size', async () => {
  const records = await batchOf([{ key: 'a', value: 'b' }], 1);
  const decodeOther = jest.fn(async () => []);
  await decodeFetch(responseOf([{ records }]), decodeOther);
  const size = Buffer.alloc(4);
  size.writeInt32BE(records.length);
  expect(decodeOther.mock.calls).toEqual([[Buffer.concat([size, records])]]);
});

test.each([
  [1, 'gzip'],
  [4, 'zstd'],
])('records compressed by codec %i, %s, are decoded', async (codec) => {
  const records = await batchOf([{ key: 'a', value: 'b' }], codec);
  const { responses } = await patched.fetch({}).response.decode(responseOf([{ records }]));
  expect(String(responses[0]?.partitions[0]?.messages[0]?.value)).toBe('b');
});

test.each([
  [2, 'snappy'],
  [3, 'lz4'],
  [5, 'codec 5'],
])(
  'records compressed by codec %i end the consumer with the topic, the partition and %s',
  async (codec, name) => {
    const records = Buffer.from(await batchOf([{ key: 'a', value: 'b' }]));
    records.writeInt16BE(codec, 21);
    const empty = { records: Buffer.alloc(0) };
    const decoding = patched.fetch({}).response.decode(responseOf([empty, { records }]));
    // kafkajs fetches again after any other error, for ever.
    await expect(decoding).rejects.toMatchObject({
      name: 'KafkaJSNotImplemented',
      message: expect.stringMatching(
        `^t, partition 1: .*${name}, which cannot be read: set compression.type`,
      ),
    });
  },
);
