import type { KafkaMessage } from 'kafkajs';
import { z } from 'zod';
import { defineTopic, type Topic } from '#shared/contracts/topic.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { headersOf, makeDeadLetter } from '../dead-letters.ts';
import { makeParseRecord, makeProcessRecord } from './process-record.ts';
import type { GiveUp, Handler } from './record.ts';

type Message = { id: string };
const topic = defineTopic<Message>({
  name: 't',
  schema: z.object({ id: z.string() }),
  keyOf: ({ id }) => id,
  partitionCount: 1,
});
const topics = new Map([['t', topic]]);

async function process(
  value: string | null,
  handle: Handler<Message>,
  giveUp?: GiveUp<Message>,
  declared: ReadonlyMap<string, Topic<Message>> = topics,
) {
  const stop = new AbortController();
  const events: string[] = [];
  const processRecord = makeProcessRecord<Message>({
    groupId: 'g',
    topics: declared,
    handle: async (message, at) => {
      events.push('handle');
      await handle(message, at);
    },
    giveUp: async (failure) => {
      events.push('give up');
      await giveUp?.(failure);
    },
    handleErasure: async (key) => void events.push(`erased: ${key}`),
    deadLetter: async (_record, _at, error) => void events.push(`dead letter: ${(error as Error).message}`),
    countOutcome: (_topic, outcome) => void events.push(outcome),
    log: makeSilentLogger(),
  });
  const record = {
    offset: '7',
    timestamp: '0',
    key: Buffer.from('k'),
    value: value === null ? null : Buffer.from(value),
  } as KafkaMessage;
  const parsed = makeParseRecord(declared)(record, 't');
  const committed = processRecord(
    { offset: 7, record, key: 'k', isFinished: false, parsed },
    { topic: 't', partition: 0, signal: stop.signal },
    () => undefined,
  );
  return { committed, events, stop };
}

test('ignores a header without a value, alone or repeated, which other producers may write', async () => {
  const record = {
    offset: '7',
    timestamp: '0',
    value: Buffer.from('x'),
    headers: { agent: null, agents: [null, null], kind: Buffer.from('a'), kinds: [null, Buffer.from('b')] },
  };
  const letter = makeDeadLetter(record as unknown as KafkaMessage, 't/0/7', 'g', new Error('no'));
  expect(letter.headers).toMatchObject({ kind: Buffer.from('a'), kinds: [Buffer.from('b')] });
  expect(letter.headers).not.toHaveProperty('agent');
  expect(headersOf(record as unknown as KafkaMessage)).toEqual({ kind: 'a', kinds: 'b' });
});

test('writes a dead-letter record that is too large without its value, and commits the offset', async () => {
  const letters: (Buffer | null)[] = [];
  const processRecord = makeProcessRecord<Message>({
    ...{
      groupId: 'g',
      topics,
      handle: async () => undefined,
      giveUp: undefined,
      handleErasure: undefined,
      countOutcome: () => undefined,
    },
    deadLetter: async ({ value }) => {
      letters.push(value);
      if (value !== null) throw new ServiceError('message-too-large', 'no');
    },
    log: makeSilentLogger(),
  });
  const record = {
    offset: '7',
    timestamp: '0',
    key: null,
    value: Buffer.from('not JSON'),
  } as unknown as KafkaMessage;
  const parsed = makeParseRecord(topics)(record, 't');
  expect(
    await processRecord(
      { offset: 7, record, key: '', isFinished: false, parsed },
      { topic: 't', partition: 0, signal: new AbortController().signal },
      () => undefined,
    ),
  ).toBe(true);
  expect(letters).toEqual([record.value, null]);
});

test('commits the offset when the handler returns', async () => {
  const { committed, events } = await process('{"id":"a"}', async () => undefined);
  expect(await committed).toBe(true);
  expect(events).toEqual(['handle', 'handled']);
});

test('holds the record on a retriable error until the handler succeeds', async () => {
  let calls = 0;
  const { committed, events } = await process('{"id":"a"}', async () => {
    if (++calls < 3) throw new ServiceError('store-unavailable', 'away');
  });
  expect(await committed).toBe(true);
  expect(events).toEqual(['handle', 'retried', 'handle', 'retried', 'handle', 'handled']);
});

test('leaves a held record to the next owner when the process stops', async () => {
  const { committed, events, stop } = await process('{"id":"a"}', async () => {
    throw new ServiceError('store-unavailable', 'away');
  });
  stop.abort();
  expect(await committed).toBe(false);
  expect(events.at(-1)).toBe('left');
});

test('tries a record that meets a bug three times, gives it up, dead-letters it, and commits', async () => {
  const { committed, events } = await process('{"id":"a"}', async () => {
    throw new TypeError('boom');
  });
  expect(await committed).toBe(true);
  expect(events).toEqual(['handle', 'handle', 'handle', 'give up', 'dead letter: boom', 'dead-lettered']);
});

test('never hands over an unreadable record, but gives it up and dead-letters it', async () => {
  const { committed, events } = await process('not json', async () => undefined);
  expect(await committed).toBe(true);
  expect(events).toEqual(['give up', 'dead letter: the record is not JSON', 'dead-lettered']);
});

test('dead-letters a record even if giving it up fails', async () => {
  const { committed, events } = await process(
    '{}',
    async () => undefined,
    async () => {
      throw new TypeError('boom');
    },
  );
  expect(await committed).toBe(true);
  expect(events.at(-1)).toBe('dead-lettered');
});

test('an empty record of a compacted topic erases a document, and is dead-lettered in another topic', async () => {
  const compacted = new Map([['t', { ...topic, cleanup: 'compact' } as const]]);
  const erased = await process(null, async () => undefined, undefined, compacted);
  expect(await erased.committed).toBe(true);
  expect(erased.events).toEqual(['erased: k', 'handled']);
  const unreadable = await process(null, async () => undefined);
  expect(await unreadable.committed).toBe(true);
  expect(unreadable.events).toEqual(['give up', 'dead letter: the record has no value', 'dead-lettered']);
});
