import type { Admin } from 'kafkajs';
import { z } from 'zod';
import { defineTopic } from '../contracts/topic.ts';
import { applyTopics } from './topics-admin.ts';

// Scenario: a cluster of several brokers. The controller has created the topics, and the broker
// that is requested them does not know them yet.

const TOPIC = defineTopic({
  name: 'new.v1',
  schema: z.object({}),
  keyOf: () => 'key',
  partitionCount: 3,
  retention: 'checks',
});

const unknownTopic = (retriable: boolean) =>
  Object.assign(new Error('This server does not host this topic-partition'), {
    name: 'KafkaJSProtocolError',
    retriable,
  });

function makeAdmin(faults: readonly Error[]) {
  const left = [...faults];
  const asked: (string[] | undefined)[] = [];
  const admin = {
    listTopics: async () => [],
    createTopics: async ({ waitForLeaders }: { readonly waitForLeaders?: boolean }) => {
      // kafkajs's own wait fails at the first broker that does not know a topic.
      if (waitForLeaders !== false) throw unknownTopic(true);
      return true;
    },
    async fetchTopicMetadata(options?: { readonly topics?: string[] }) {
      asked.push(options?.topics);
      const fault = left.shift();
      if (fault) throw fault;
      return { topics: [] };
    },
  };
  return { admin: admin as unknown as Admin, asked };
}

test('waits until the brokers know the topics that were created', async () => {
  const { admin, asked } = makeAdmin([unknownTopic(true), unknownTopic(true)]);
  expect(await applyTopics(admin, [TOPIC])).toEqual({ created: ['new.v1'], changed: [], unchanged: 0 });
  expect(asked).toEqual([['new.v1'], ['new.v1'], ['new.v1']]);
});

test('fails at once on an error that is not retriable', async () => {
  const { admin } = makeAdmin([unknownTopic(false)]);
  await expect(applyTopics(admin, [TOPIC])).rejects.toThrow('does not host');
});
