import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, KafkaJSConnectionError, KafkaJSError, logLevel } from 'kafkajs';
import type { z } from 'zod';
import { type CheckCompleted, checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { usage } from '#shared/contracts/usage/usage.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { settleBeforeJoin } from '#shared/kafka/consumer/patch-kafkajs.ts';
import type { ConsumeOptions } from '#shared/kafka/consumer/start-consumer.ts';
import { listDeadLetters, redriveDeadLetter, settleDeadLetter } from '#shared/kafka/dead-letters.ts';
import { aCheckCompleted } from '../../support/builders/a-check-completed.ts';
import { connectTestKafka, testConfig } from '../../support/infrastructure/connections.ts';
import { waitUntilProcessed } from '../../support/infrastructure/topic-work.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** The class of kafkajs through which its consumers send requests. */
type Broker = {
  findGroupCoordinator: (options: { readonly groupId: string }) => Promise<unknown>;
  joinGroup: (options: { readonly groupId: string }) => Promise<unknown>;
  heartbeat: (options: { readonly groupId: string; readonly memberId: string }) => Promise<unknown>;
};
const Broker = createRequire(import.meta.url)('kafkajs/src/broker') as { readonly prototype: Broker };

// Scenario: a producer and consumer groups of this file's own on a real broker. Other files share
// the topics, so every test looks at the records of its own run alone.

let kafka: KafkaConnection;
const run = randomUUID();
const aResult = (name: string, over: Partial<CheckCompleted> = {}): CheckCompleted =>
  aCheckCompleted('app_kafka', {
    requestId: `${name}.${run}`.slice(0, 64),
    accountId: 'acc_kafka',
    acceptedAt: '2026-11-21T10:00:00.000Z',
    retainUntil: '2026-11-21T11:00:00.000Z',
    resultJson: '{}',
    ...over,
  });
const consume = (over: Partial<ConsumeOptions<CheckCompleted>>, by = kafka) =>
  by.consume<CheckCompleted>({
    groupId: `test.${randomUUID()}`,
    topics: [checkCompleted],
    window: 16,
    handle: async () => undefined,
    ...over,
  });
const isOurs = (key: string) => key.endsWith(run);

beforeAll(async () => {
  kafka = await connectTestKafka(testConfig(2));
});
afterAll(async () => kafka[Symbol.asyncDispose]());

test('a group that reads for the first time gets the records published before it existed', async () => {
  const message = aResult('early');
  await kafka.publish(checkCompleted, message);
  const seen: string[] = [];
  await using _ = await consume({ handle: async ({ requestId }) => void seen.push(requestId) });
  await waitUntil('the early record', () => seen.includes(message.requestId));
});

test('a slow record does not block its partition, and is processed again after a crash', async () => {
  const groupId = `test.${randomUUID()}`;
  const key = `slow.${run}`;
  const seen: string[] = [];
  // One key per record and one partition for all: the slow one is first.
  const fast = Array.from({ length: 20 }, (_, i) => `f${i}.${run}`);
  const slow = await consume({
    groupId,
    handle: async ({ requestId }, { signal }) => {
      if (requestId !== key) return void (isOurs(requestId) && seen.push(requestId));
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      throw new ServiceError('store-unavailable', 'interrupted');
    },
  });
  await kafka.publish(checkCompleted, aResult('slow'));
  for (const name of fast) await kafka.publish(checkCompleted, aResult(name.split('.')[0] ?? ''));
  await waitUntil('the fast records', () => fast.every((name) => seen.includes(name)));
  await slow[Symbol.asyncDispose]();
  const again: string[] = [];
  await using _ = await consume({ groupId, handle: async ({ requestId }) => void again.push(requestId) });
  await waitUntil('the slow record again', () => again.includes(key));
});

test('a member whose rejoin is refused retries until it joins, and processes the records that arrived meanwhile', async () => {
  const groupId = `test.${randomUUID()}`;
  const seen = new Set<string>();
  const handle = async ({ requestId }: CheckCompleted) => void seen.add(requestId);
  // A member that lost its id is a new one, and the broker waits for the old one until its session
  // ends.
  await using brief = await connectTestKafka(testConfig(2, { KAFKA_SESSION_TIMEOUT_MS: '3000' }));
  await using _ = await consume({ groupId, handle }, brief);
  const other = await consume({ groupId, handle }, brief);
  const { joinGroup } = Broker.prototype;
  const refusals = ['UNKNOWN_MEMBER_ID', 'GROUP_LOAD_IN_PROGRESS', 'GROUP_LOAD_IN_PROGRESS'];
  const refuse = jest.spyOn(Broker.prototype, 'joinGroup').mockImplementation(function (
    this: Broker,
    options,
  ) {
    const type = options.groupId === groupId ? refusals.shift() : undefined;
    if (type) throw Object.assign(new KafkaJSError(type, { retriable: true }), { type });
    return joinGroup.call(this, options);
  });
  // One leaves, so the other must join again.
  await other[Symbol.asyncDispose]();
  await waitUntil('the joins to be refused', () => refusals.length === 0);
  const many = Array.from({ length: 30 }, (_, i) => aResult(`meanwhile${i}`));
  await Promise.all(many.map((message) => kafka.publish(checkCompleted, message)));
  await waitUntil('all records', () => many.every(({ requestId }) => seen.has(requestId)));
  refuse.mockRestore();
});

test('a member whose broker closes the connection while it looks for its coordinator joins again', async () => {
  const groupId = `test.${randomUUID()}`;
  const seen = new Set<string>();
  const handle = async ({ requestId }: CheckCompleted) => void seen.add(requestId);
  await using _ = await consume({ groupId, handle });
  const other = await consume({ groupId, handle });
  const { findGroupCoordinator } = Broker.prototype;
  let closedCount = 0;
  const close = jest.spyOn(Broker.prototype, 'findGroupCoordinator').mockImplementation(async function (
    this: Broker,
    options,
  ) {
    const isClosed = options.groupId === groupId && closedCount < 3;
    if (!isClosed) return findGroupCoordinator.call(this, options);
    closedCount++;
    throw new KafkaJSConnectionError('Closed connection');
  });
  // One leaves, so the other must join again.
  await other[Symbol.asyncDispose]();
  await waitUntil('the searches to fail', () => closedCount === 3);
  const message = aResult('afterwards');
  await kafka.publish(checkCompleted, message);
  await waitUntil('the record', () => seen.has(message.requestId));
  close.mockRestore();
});

test('records in progress are finished and committed once before a joining member gets their partition', async () => {
  const groupId = `test.${randomUUID()}`;
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  const done: string[] = [];
  const handle = async ({ requestId }: CheckCompleted) => {
    if (!isOurs(requestId) || !requestId.startsWith('running')) return;
    await told;
    // As long as a chain may take to answer.
    await delay(100);
    done.push(requestId);
  };
  await using _ = await consume({ groupId, window: 100, handle });
  const many = Array.from({ length: 60 }, (_, i) => aResult(`running${i}`));
  await Promise.all(many.map((message) => kafka.publish(checkCompleted, message)));
  const forget = settleBeforeJoin(groupId, async () => tell());
  await using __ = await consume({ groupId, window: 100, handle });
  await waitUntil('all records', () => new Set(done).size === many.length);
  forget();
  await waitUntilProcessed({ kafka }, groupId, checkCompleted.name);
  expect(done).toHaveLength(many.length);
});

test('records in progress in a stopping process are committed once before a joining member gets their partition', async () => {
  const groupId = `test.${randomUUID()}`;
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  const done: string[] = [];
  const begun: string[] = [];
  const handle = async ({ requestId }: CheckCompleted) => {
    if (!isOurs(requestId) || !requestId.startsWith('stopping')) return;
    begun.push(requestId);
    await told;
    await delay(100);
    done.push(requestId);
  };
  const first = await consume({ groupId, window: 100, handle });
  const many = Array.from({ length: 40 }, (_, i) => aResult(`stopping${i}`));
  await Promise.all(many.map((message) => kafka.publish(checkCompleted, message)));
  await waitUntil('all to be begun', () => begun.length === many.length);
  const stopped = first[Symbol.asyncDispose]();
  const forget = settleBeforeJoin(groupId, async () => tell());
  await using _ = await consume({ groupId, window: 100, handle });
  await stopped;
  forget();
  await waitUntilProcessed({ kafka }, groupId, checkCompleted.name);
  expect(done).toHaveLength(many.length);
});

test('a member that was expelled commits no older offset when it returns', async () => {
  const groupId = `test.${randomUUID()}`;
  const publishMany = async (name: string) => {
    const many = Array.from({ length: 100 }, (_, i) => aResult(`${name}${i}`));
    await Promise.all(many.map((message) => kafka.publish(checkCompleted, message)));
    await waitUntilProcessed({ kafka }, groupId, checkCompleted.name);
  };
  const committed = async () => {
    const [topic] = await kafka.admin.fetchOffsets({ groupId, topics: [checkCompleted.name] });
    return topic?.partitions.map(({ offset }) => Number(offset)) ?? [];
  };
  await using brief = await connectTestKafka(testConfig(2, { KAFKA_SESSION_TIMEOUT_MS: '3000' }));
  const { heartbeat } = Broker.prototype;
  const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>();
  let frozen: string | undefined;
  let beatsOfOld = 0;
  const members = new Set<string>();
  const freeze = jest.spyOn(Broker.prototype, 'heartbeat').mockImplementation(async function (
    this: Broker,
    options,
  ) {
    if (options.groupId === groupId) members.add(options.memberId);
    if (options.memberId === frozen) {
      beatsOfOld += 1;
      await thawed;
    }
    return heartbeat.call(this, options);
  });
  await using _ = await consume({ groupId }, brief);
  await publishMany('before');
  await waitUntil('a heartbeat', () => members.size > 0);
  // On a busy machine it may have been expelled and have returned under another id.
  frozen = [...members].at(-1);
  await waitUntil('its silence', () => beatsOfOld > 0);
  const earlier = members.size;
  await using __ = await consume({ groupId }, brief);
  await publishMany('meanwhile');
  const before = await committed();
  await waitUntil('a heartbeat of the other', () => members.size > earlier);
  const known = members.size;
  thaw();
  await waitUntil('it to be back', () => members.size > known);
  await publishMany('after');
  const after = await committed();
  freeze.mockRestore();
  expect(after.map((offset, partition) => offset >= (before[partition] ?? 0))).toEqual(after.map(() => true));
  await waitUntilProcessed({ kafka }, groupId, checkCompleted.name);
});

test('parked records take no slot of others, and are released at once when the process stops', async () => {
  const groupId = `test.${randomUUID()}`;
  const names = Array.from({ length: 8 }, (_, i) => `parked${i}`);
  const parked = names.map((name) => `${name}.${run}`);
  const others = Array.from({ length: 8 }, (_, i) => `other${i}`);
  const begun: string[] = [];
  const seen: string[] = [];
  // More records wait than there are slots, and all of them may be parked, whichever partitions
  // they are in.
  const waiting = await consume({
    groupId,
    window: 4,
    handle: async ({ requestId }, { park }) => {
      if (!parked.includes(requestId)) return void (isOurs(requestId) && seen.push(requestId));
      begun.push(requestId);
      await new Promise<void>((leave) => park(leave));
      throw new ServiceError('store-unavailable', 'left');
    },
  });
  for (const name of names) await kafka.publish(checkCompleted, aResult(name));
  await waitUntil('all of the first to wait', () => begun.length === parked.length);
  for (const name of others) await kafka.publish(checkCompleted, aResult(name));
  await waitUntil('the others', () => others.every((name) => seen.includes(`${name}.${run}`)));
  await waiting[Symbol.asyncDispose]();
  const again: string[] = [];
  await using _ = await consume({ groupId, handle: async ({ requestId }) => void again.push(requestId) });
  await waitUntil('those that waited again', () => parked.every((id) => again.includes(id)));
});

test('records of one key are processed one after another in the order of their offsets', async () => {
  const message = aResult('keyed');
  const order: string[] = [];
  let working = 0;
  await using _ = await consume({
    handle: async ({ requestId, resultJson }) => {
      if (requestId !== message.requestId) return;
      expect(++working).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(resultJson);
      working--;
    },
  });
  const copies = ['1', '2', '3', '4'];
  for (const resultJson of copies) await kafka.publish(checkCompleted, { ...message, resultJson });
  await waitUntil('all copies', () => order.length === copies.length);
  expect(order).toEqual(copies);
});

test('a record that cannot be processed is dead-lettered once with its reason, and the group continues', async () => {
  const bad = `bad.${run}`;
  const good = aResult('good');
  const given: string[] = [];
  const bugPlaces = new Set<number>();
  const seen: string[] = [];
  await using _ = await consume({
    handle: async ({ requestId }) => {
      if (requestId === `bug.${run}`) throw new TypeError('boom');
      seen.push(requestId);
    },
    giveUp: async ({ record }) => {
      if (isOurs(record.key)) given.push(record.key);
      if (record.key === `bug.${run}`) bugPlaces.add(record.partition);
    },
  });
  await kafka.publishRecord(checkCompleted.name, { key: bad, value: '{"requestId":5}' });
  await kafka.publish(checkCompleted, aResult('bug', { mode: 'sync' }));
  await kafka.publish(checkCompleted, good);
  await waitUntil(
    'the good record and both dead-lettered ones',
    () => seen.includes(good.requestId) && given.length === 2,
  );
  const ours = async () =>
    (await listDeadLetters(kafka, checkCompleted.name)).filter(({ key }) => isOurs(key));
  const letters = await waitUntil('two dead-lettered records', async () => {
    const found = await ours();
    return found.length === 2 && found;
  });
  const codes = Object.fromEntries(letters.map(({ key, error }) => [key, error.code]));
  expect(codes).toEqual({ [bad]: 'message-unreadable', [`bug.${run}`]: 'handler-failed' });
  const [unreadable] = letters.filter(({ key }) => key === bad);
  const [bug] = letters.filter(({ key }) => key !== bad);
  if (!unreadable || !bug) throw new Error('a dead-lettered record is missing');
  await settleDeadLetter(kafka, checkCompleted.name, unreadable, 'discarded');
  await redriveDeadLetter(kafka, checkCompleted.name, bug);
  await waitUntil(
    'the redriven record to arrive again',
    () => given.filter((key) => key === `bug.${run}`).length === 2,
  );
  // One partition, so that "the first" of a key means the same on every replay.
  expect(bugPlaces.size).toBe(1);
  expect((await ours()).map(({ offset, partition }) => `${partition}/${offset}`)).not.toContain(
    `${bug.partition}/${bug.offset}`,
  );
});

test('a delayed record is never processed before it is due, and the records behind it wait with it', async () => {
  let now = Date.now();
  const seen: string[] = [];
  const due = `due.${run}`;
  await using _ = await consume({
    due: {
      dueAtOf: ({ requestId, acceptedAt }) => (requestId === due ? Date.parse(acceptedAt) : 0),
      now: () => now,
    },
    handle: async ({ requestId }) => void seen.push(requestId),
  });
  await kafka.publish(checkCompleted, aResult('due', { acceptedAt: new Date(now + 1_000).toISOString() }));
  const probe = aResult('probe');
  await kafka.publish(checkCompleted, probe);
  await kafka.publish(checkCompleted, aResult('due'));
  await waitUntil(
    'the probe, of another partition or another head',
    () => seen.includes(probe.requestId) || seen.length > 0,
  );
  expect(seen).not.toContain(due);
  now += 10_000;
  await waitUntil('the due record', () => seen.includes(due));
});

test('a message that its consumers would refuse, or that is too large, is never published', async () => {
  const wrong = { clientId: 'a' } as unknown as z.infer<typeof usage.schema>;
  await expect(kafka.publish(usage, wrong)).rejects.toMatchObject({ code: 'message-unreadable' });
  const large = aResult('large', { resultJson: 'x'.repeat(checkCompleted.messageBytesMax) });
  await expect(kafka.publish(checkCompleted, large)).rejects.toMatchObject({ code: 'message-too-large' });
});

test('a request in progress when its client is disconnected opens no connection', async () => {
  const { kafka: settings } = testConfig(0);
  const opened: Socket[] = [];
  const client = new Kafka({
    brokers: [...settings.brokers],
    logLevel: logLevel.NOTHING,
    // A busy machine must not make it connect twice.
    connectionTimeout: 60_000,
    socketFactory: ({ host, port, onConnect }) => {
      const socket = connect({ host, port }, onConnect);
      opened.push(socket);
      return socket;
    },
  });
  const admin = client.admin({ retry: { initialRetryTime: 1, retries: 2 } });
  await admin.connect();
  // The cluster's description takes two answers; the client is disconnected at the first.
  const disconnected = new Promise<void>((resolve) => {
    admin.on(admin.events.REQUEST, ({ payload }) => {
      if (payload.apiName === 'Metadata') resolve(admin.disconnect());
    });
  });
  await expect(admin.describeCluster()).rejects.toThrow('the client is disconnected');
  await disconnected;
  expect(opened).toHaveLength(1);
});
