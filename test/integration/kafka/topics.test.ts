import { randomUUID } from 'node:crypto';
import { ConfigResourceTypes } from 'kafkajs';
import { type CheckCompleted, checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { ALL_TOPICS } from '#shared/contracts/topics.ts';
import { describeError } from '#shared/errors.ts';
import { connectKafka, type KafkaConnection } from '#shared/kafka/connect.ts';
import { applyTopics, verifyTopics } from '#shared/kafka/topics-admin.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import { aCheckCompleted } from '../../support/builders/a-check-completed.ts';
import { connectTestKafka, testConfig, testContext } from '../../support/infrastructure/connections.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: the topics of a real broker, which an operator has changed by hand, or which another
// release has made. `topics apply` and the start of every process must say so and must not undo the
// operator's own settings.

const aTopic = (name = `topic.${randomUUID()}`) =>
  ({
    name,
    partitionCount: 2,
    cleanup: 'delete',
    retentionMs: 3_600_000,
    messageBytesMax: 1_000_000,
  }) as const;

/** The topic's own settings afterwards: exactly these, once the broker has taken them over. */
async function set(kafka: KafkaConnection, topic: string, settings: Record<string, string>) {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await kafka.admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
  });
  await untilOwnSettingsAre(kafka, topic, settings);
}

const untilOwnSettingsAre = (kafka: KafkaConnection, topic: string, settings: Record<string, string>) =>
  waitUntil(`the settings of ${topic}`, async () => {
    const own = await ownSettingsOf(kafka, topic);
    return Object.entries(settings).every(([name, value]) => own[name] === value);
  });

async function ownSettingsOf({ admin }: KafkaConnection, topic: string) {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
  });
  const own = resources[0]?.configEntries.filter(
    ({ isDefault, configSource }) => !isDefault && configSource === 1,
  );
  return Object.fromEntries((own ?? []).map(({ configName, configValue }) => [configName, configValue]));
}

/** A topic of results whose records the broker compresses from the first one on. */
async function makeCompressed({ admin }: KafkaConnection, compression: string) {
  const topic = { ...checkCompleted, name: `compressed.${randomUUID()}` };
  const configEntries = [{ name: 'compression.type', value: compression }];
  await admin.createTopics({
    topics: [{ topic: topic.name, numPartitions: topic.partitionCount, configEntries }],
  });
  return topic;
}

function listen() {
  const lines: string[] = [];
  const log = makeLogger('test', 'warn', { write: (line) => void lines.push(line) });
  return { log, lines, warnings: () => lines.map((line) => JSON.parse(line)) };
}

test('the topics that this release makes are accepted without a warning', async () => {
  await using kafka = await connectTestKafka(testConfig(3));
  const { log, lines } = listen();
  await verifyTopics(kafka.admin, ALL_TOPICS, log);
  expect(lines).toEqual([]);
});

test('applying a declaration keeps the settings that an operator has set on the topic', async () => {
  await using kafka = await connectTestKafka(testConfig(3));
  const topic = aTopic();
  await applyTopics(kafka.admin, [topic]);
  const operators = { 'min.insync.replicas': '2', 'segment.bytes': '2097152', 'compression.type': 'zstd' };
  await set(kafka, topic.name, { 'retention.ms': '1000', ...operators });
  const { log, warnings } = listen();
  await verifyTopics(kafka.admin, [topic], log);
  expect(warnings()).toMatchObject([
    {
      topics: [topic.name],
      msg: expect.stringContaining('other settings than declared, run: npm run admin'),
    },
  ]);
  const changed = { created: [], changed: [topic.name], unchanged: 0 };
  expect(await applyTopics(kafka.admin, [topic])).toEqual(changed);
  await untilOwnSettingsAre(kafka, topic.name, { ...operators, 'retention.ms': '3600000' });
  expect(await applyTopics(kafka.admin, [topic])).toEqual({ created: [], changed: [], unchanged: 1 });
});

test('missing topics and missing partitions are named together with the command that adds them', async () => {
  await using kafka = await connectTestKafka(testConfig(3));
  const [missing, small] = [aTopic(), aTopic()];
  await applyTopics(kafka.admin, [small]);
  const declared = [missing, { ...small, partitionCount: 3 }];
  await expect(verifyTopics(kafka.admin, declared, listen().log)).rejects.toThrow(
    `topics: ${missing.name} is missing, run: npm run admin -- topics apply; ` +
      `${small.name} has 2 partitions instead of 3, run: npm run admin -- topics apply`,
  );
  const applied = { created: [missing.name], changed: [small.name], unchanged: 0 };
  expect(await applyTopics(kafka.admin, declared)).toEqual(applied);
  await verifyTopics(kafka.admin, declared, listen().log);
});

test('more partitions than declared are accepted, except of a compacted topic', async () => {
  await using kafka = await connectTestKafka(testConfig(3));
  const topic = { ...aTopic(), partitionCount: 3 };
  const compacted = { ...topic, name: `${topic.name}.compacted`, cleanup: 'compact' } as const;
  await applyTopics(kafka.admin, [topic, compacted]);
  const older = [topic, compacted].map((each) => ({ ...each, partitionCount: 2 }));
  expect(await applyTopics(kafka.admin, older)).toEqual({ created: [], changed: [], unchanged: 2 });
  await verifyTopics(kafka.admin, older.slice(0, 1), listen().log);
  await expect(verifyTopics(kafka.admin, older, listen().log)).rejects.toThrow(
    `topics: ${compacted.name} has 3 partitions instead of 2, which never changes because it is compacted`,
  );
});

test("the brokers' default compression does not apply to a new topic", async () => {
  await using kafka = await connectTestKafka(testConfig(3));
  const topic = aTopic();
  await applyTopics(kafka.admin, [topic]);
  expect(await ownSettingsOf(kafka, topic.name)).toMatchObject({ 'compression.type': 'producer' });
});

test('a compression that cannot be read is refused with the topic and the setting', async () => {
  await using kafka = await connectTestKafka(testConfig(3));
  const topic = aTopic();
  await applyTopics(kafka.admin, [topic]);
  for (const compression of ['lz4', 'snappy']) {
    await set(kafka, topic.name, {
      ...(await ownSettingsOf(kafka, topic.name)),
      'compression.type': compression,
    });
    await expect(verifyTopics(kafka.admin, [topic], listen().log)).rejects.toThrow(
      `topics: ${topic.name} has compression.type ${compression}, which cannot be read: set it to producer,`,
    );
  }
});

test('the election of a leader that lacks records is warned of', async () => {
  await using kafka = await connectTestKafka(testConfig(3));
  const topic = aTopic();
  await applyTopics(kafka.admin, [topic]);
  const own = await ownSettingsOf(kafka, topic.name);
  await set(kafka, topic.name, { ...own, 'unclean.leader.election.enable': 'true' });
  const { log, warnings } = listen();
  await verifyTopics(kafka.admin, [topic], log);
  expect(warnings()).toMatchObject([
    { topics: [topic.name], msg: expect.stringMatching(/^unclean\.leader\.election\.enable is true/) },
  ]);
});

test.each(['gzip', 'zstd'])(
  'a consumer reads the records that the broker compresses by %s',
  async (compression) => {
    await using kafka = await connectTestKafka(testConfig(3));
    const topic = { ...checkCompleted, name: `compressed.${randomUUID()}` };
    await applyTopics(kafka.admin, [topic]);
    const own = await ownSettingsOf(kafka, topic.name);
    await set(kafka, topic.name, { ...own, 'compression.type': compression });
    const sent = Array.from({ length: 40 }, () => aCheckCompleted(randomUUID()));
    for (const message of sent) await kafka.publish(topic, message);
    const read = new Set<string>();
    await using _ = await kafka.consume<CheckCompleted>({
      groupId: `test.${randomUUID()}`,
      topics: [topic],
      window: 64,
      handle: async ({ requestId }) => void read.add(requestId),
    });
    await waitUntil('every record', () => sent.every(({ requestId }) => read.has(requestId)));
  },
);

test('records that cannot be read end the consumer, and the last line of the log says what to do', async () => {
  const failures: unknown[] = [];
  const context = { ...testContext(), fail: (error: unknown) => void failures.push(error) };
  await using kafka = await connectKafka(testConfig(3), 'test', context);
  const topic = await makeCompressed(kafka, 'lz4');
  await kafka.publish(topic, aCheckCompleted(randomUUID()));
  const handle = jest.fn(async () => undefined);
  const consuming = { groupId: `test.${randomUUID()}`, topics: [topic], window: 64, handle };
  await using _ = await kafka.consume<CheckCompleted>(consuming);
  await waitUntil('the end of the consumer', () => failures.length > 0);
  expect(describeError(failures[0]).message).toMatch(
    new RegExp(`${topic.name}, partition \\d+: the records are compressed by lz4, .* set compression\\.type`),
  );
  expect(handle).not.toHaveBeenCalled();
});
