import { Kafka, logLevel } from 'kafkajs';
import { ALL_TOPICS } from '#shared/contracts/all-topics.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { infrastructure, startInfrastructure } from './infrastructure.ts';

/** Brings real Kafka, Redis and a chain up for the run, with all topics declared. */
export default async function setUp(): Promise<void> {
  const running = await startInfrastructure();
  Reflect.set(globalThis, '__rolecallInfrastructure', running);
  const admin = new Kafka({
    brokers: infrastructure().brokers.split(','),
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
  await applyTopics(admin, ALL_TOPICS);
  await admin.disconnect();
}
