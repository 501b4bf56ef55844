import type { KafkaMessage } from 'kafkajs';
import { z } from 'zod';
import { defineTopic } from '#shared/contracts/topic.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { headersOf, makeDeadLetter } from './dead-letter.ts';
import { type GiveUp, type Handler, makeLookAtRecord, makeWorkRecord } from './work-record.ts';

type Message = { id: string };
const topic = defineTopic<Message>({
  name: 't',
  schema: z.object({ id: z.string() }),
  keyOf: ({ id }) => id,
  partitionCount: 1,
});
const topics = new Map([['t', topic]]);

async function work(value: string, handle: Handler<Message>, giveUp?: GiveUp<Message>) {
  const stop = new AbortController();
  const events: string[] = [];
  const workRecord = makeWorkRecord<Message>({
    groupId: 'g',
    topics,
    handle: async (message, at) => {
      events.push('handle');
      await handle(message, at);
    },
    giveUp: async (failure) => {
      events.push('give up');
      await giveUp?.(failure);
    },
    deadLetter: async (_record, _at, error) => void events.push(`dead letter: ${(error as Error).message}`),
    observe: (_topic, outcome) => void events.push(outcome),
    log: makeSilentLogger(),
    signal: stop.signal,
  });
  const record = {
    offset: '7',
    timestamp: '0',
    key: Buffer.from('k'),
    value: Buffer.from(value),
  } as KafkaMessage;
  const parsed = makeLookAtRecord(topics)(record, 't');
  const passed = workRecord({ offset: 7, record, key: 'k', done: false, parsed }, 't', 0, () => false);
  return { passed, events, stop };
}

test('a header without a value, which other producers may write, harms nothing', async () => {
  const record = {
    offset: '7',
    timestamp: '0',
    value: Buffer.from('x'),
    headers: { agent: null, kind: Buffer.from('a') },
  };
  const letter = makeDeadLetter(record as unknown as KafkaMessage, 't/0/7', 'g', new Error('no'));
  expect(letter.headers).toMatchObject({ kind: Buffer.from('a') });
  expect(letter.headers).not.toHaveProperty('agent');
  expect(headersOf(record as unknown as KafkaMessage)).toEqual({ kind: 'a' });
});

test('a dead letter that is too large for its topic goes without its value, and the offset passes', async () => {
  const letters: (Buffer | null)[] = [];
  const workRecord = makeWorkRecord<Message>({
    ...{ groupId: 'g', topics, handle: async () => undefined, giveUp: undefined, observe: () => undefined },
    deadLetter: async ({ value }) => {
      letters.push(value);
      if (value !== null) throw new ServiceError('message-too-large', 'no');
    },
    log: makeSilentLogger(),
    signal: new AbortController().signal,
  });
  const record = {
    offset: '7',
    timestamp: '0',
    key: null,
    value: Buffer.from('not JSON'),
  } as unknown as KafkaMessage;
  const parsed = makeLookAtRecord(topics)(record, 't');
  expect(await workRecord({ offset: 7, record, key: '', done: false, parsed }, 't', 0, () => false)).toBe(
    true,
  );
  expect(letters).toEqual([record.value, null]);
});

test('a handler that returns lets the offset pass', async () => {
  const { passed, events } = await work('{"id":"a"}', async () => undefined);
  expect(await passed).toBe(true);
  expect(events).toEqual(['handle', 'handled']);
});

test('a retriable error holds the record until it works', async () => {
  let calls = 0;
  const { passed, events } = await work('{"id":"a"}', async () => {
    if (++calls < 3) throw new ServiceError('store-unavailable', 'away');
  });
  expect(await passed).toBe(true);
  expect(events).toEqual(['handle', 'retried', 'handle', 'retried', 'handle', 'handled']);
});

test('a held record is left for the next owner when the process stops', async () => {
  const { passed, events, stop } = await work('{"id":"a"}', async () => {
    throw new ServiceError('store-unavailable', 'away');
  });
  stop.abort();
  expect(await passed).toBe(false);
  expect(events.at(-1)).toBe('left');
});

test('a bug is tried three times, given up, dead-lettered, and passed', async () => {
  const { passed, events } = await work('{"id":"a"}', async () => {
    throw new TypeError('boom');
  });
  expect(await passed).toBe(true);
  expect(events).toEqual(['handle', 'handle', 'handle', 'give up', 'dead letter: boom', 'dead-lettered']);
});

test('an unreadable record is never handled, but given up and dead-lettered', async () => {
  const { passed, events } = await work('not json', async () => undefined);
  expect(await passed).toBe(true);
  expect(events).toEqual(['give up', 'dead letter: the record is not JSON', 'dead-lettered']);
});

test('a bug in giving up does not keep the record from its dead letter', async () => {
  const { passed, events } = await work(
    '{}',
    async () => undefined,
    async () => {
      throw new TypeError('boom');
    },
  );
  expect(await passed).toBe(true);
  expect(events.at(-1)).toBe('dead-lettered');
});
