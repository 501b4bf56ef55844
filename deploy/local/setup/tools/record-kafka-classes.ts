// Run by set-up: a throw-away broker does a little of everything while Java records the classes it
// loads.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { z } from 'zod';
import { startKafka } from '../../infrastructure/kafka.ts';
import { findFreePorts } from '../../settings/ports.ts';

const MESSAGE_WAIT_MS_MAX = 60_000;
/** The archive is written when the broker ends, which takes some seconds on a slow machine. */
const ARCHIVE_TIMEOUT_MS = 120_000;

const Facts = z.object({ java: z.string(), jars: z.array(z.string()), archive: z.string() });
const { java, jars, archive } = Facts.parse(JSON.parse(process.argv[2] ?? '{}'));
const dir = mkdtempSync(join(tmpdir(), 'rolecall-kafka-'));
try {
  const [port, controllerPort] = (await findFreePorts(2)) as [number, number];
  const toolchain = { java, redis: '', kafka: { version: '', jars, archive: null } };
  const broker = await startKafka({
    dir: join(dir, 'kafka'),
    port,
    controllerPort,
    toolchain,
    javaOptions: [`-XX:ArchiveClassesAtExit=${archive}`],
    stopTimeoutMs: ARCHIVE_TIMEOUT_MS,
  });
  try {
    await sendOneMessageRound(broker.brokers);
  } finally {
    await broker.stop();
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function sendOneMessageRound(brokers: string): Promise<void> {
  const kafka = new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING });
  const [admin, producer] = [kafka.admin(), kafka.producer()];
  const consumer = kafka.consumer({ groupId: 'setup' });
  const arrived = Promise.withResolvers<void>();
  const giveUp = setTimeout(() => arrived.reject(new Error('no message came back')), MESSAGE_WAIT_MS_MAX);
  await Promise.all([admin.connect(), producer.connect(), consumer.connect()]);
  await admin.createTopics({
    topics: [
      { topic: 'a', numPartitions: 4 },
      { topic: 'b', configEntries: [{ name: 'cleanup.policy', value: 'compact' }] },
    ],
  });
  await producer.send({ topic: 'a', acks: -1, messages: [{ key: 'k', value: 'v' }] });
  await consumer.subscribe({ topics: ['a'], fromBeginning: true });
  await consumer.run({ eachMessage: async () => arrived.resolve() });
  await arrived.promise;
  clearTimeout(giveUp);
  await admin.fetchTopicOffsets('a');
  await Promise.all([consumer.disconnect(), producer.disconnect(), admin.disconnect()]);
}
