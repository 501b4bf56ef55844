import {
  type Admin,
  AssignerProtocol,
  type Consumer,
  type ConsumerRunConfig,
  type EachBatchPayload,
  type Kafka,
  type Producer,
} from 'kafkajs';

/** What of kafkajs names no topic and no group, or only the system's own. */
export type SystemKafka = Pick<Kafka, 'admin' | 'consumer' | 'producer'>;

/**
 * A kafkajs client of one system of several that share a cluster: each name of a topic or group
 * that goes to the broker gets the system's prefix, and each one that comes from it loses it. So
 * all other code, and every metric and log line, has one name for a topic, whatever the system.
 * Topics and groups of other systems are not listed.
 *
 * NOTE: methods that are not used here pass names unchanged: add them below before using one.
 *
 * @example
 * const kafka = ofSystem(new Kafka(settings), 'staging.');
 * await kafka.admin().listTopics(); // ['check.completed.v1'] for staging.check.completed.v1
 */
export function ofSystem(kafka: Kafka, prefix: string): SystemKafka {
  if (prefix === '') return kafka;
  const names: Names = {
    add: (name) => prefix + name,
    remove: (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name),
    isOurs: (name) => name.startsWith(prefix),
  };
  return {
    admin: (config) => adminOf(kafka.admin(config), names),
    producer: ({ createPartitioner, ...config } = {}) =>
      producerOf(
        kafka.producer({
          ...config,
          ...(createPartitioner && {
            createPartitioner: () => {
              const choose = createPartitioner();
              return (args) => choose({ ...args, topic: names.remove(args.topic) });
            },
          }),
        }),
        names,
      ),
    consumer: (config) =>
      consumerOf(kafka.consumer({ ...config, groupId: names.add(config.groupId) }), names),
  };
}

type Names = {
  readonly add: (name: string) => string;
  readonly remove: (name: string) => string;
  readonly isOurs: (name: string) => boolean;
};

type OfTopic = { topic: string };

const added = <T extends OfTopic>(items: readonly T[], { add }: Names): T[] =>
  items.map((item) => ({ ...item, topic: add(item.topic) }));
const removed = <T extends OfTopic>(items: readonly T[], { remove }: Names): T[] =>
  items.map((item) => ({ ...item, topic: remove(item.topic) }));

function adminOf(admin: Admin, names: Names): Admin {
  const { add, remove, isOurs } = names;
  return {
    ...admin,
    listTopics: async () => (await admin.listTopics()).filter(isOurs).map(remove),
    createTopics: (options) => admin.createTopics({ ...options, topics: added(options.topics, names) }),
    createPartitions: (options) =>
      admin.createPartitions({ ...options, topicPartitions: added(options.topicPartitions, names) }),
    async fetchTopicMetadata(options) {
      const { topics } = await admin.fetchTopicMetadata(
        options && { ...options, topics: options.topics.map(add) },
      );
      return { topics: topics.map((topic) => ({ ...topic, name: remove(topic.name) })) };
    },
    async fetchOffsets({ groupId, topics, ...options }) {
      const ofGroup = { ...options, groupId: add(groupId), ...(topics && { topics: topics.map(add) }) };
      return removed(await admin.fetchOffsets(ofGroup), names);
    },
    fetchTopicOffsets: (topic) => admin.fetchTopicOffsets(add(topic)),
    fetchTopicOffsetsByTimestamp: (topic, timestamp) =>
      admin.fetchTopicOffsetsByTimestamp(add(topic), timestamp),
    async describeConfigs({ resources, ...options }) {
      const found = await admin.describeConfigs({
        ...options,
        resources: resources.map((resource) => ({ ...resource, name: add(resource.name) })),
      });
      return {
        ...found,
        resources: found.resources.map((each) => ({ ...each, resourceName: remove(each.resourceName) })),
      };
    },
    alterConfigs: ({ resources, ...options }) =>
      admin.alterConfigs({
        ...options,
        resources: resources.map((resource) => ({ ...resource, name: add(resource.name) })),
      }),
    async listGroups() {
      const { groups } = await admin.listGroups();
      return {
        groups: groups
          .filter(({ groupId }) => isOurs(groupId))
          .map((group) => ({ ...group, groupId: remove(group.groupId) })),
      };
    },
    async describeGroups(groupIds) {
      const { groups } = await admin.describeGroups(groupIds.map(add));
      return {
        groups: groups.map((group) => ({
          ...group,
          groupId: remove(group.groupId),
          members: group.members.map((member) => ({
            ...member,
            memberMetadata: metadataOf(member.memberMetadata, remove),
          })),
        })),
      };
    },
    deleteGroups: (groupIds) => admin.deleteGroups(groupIds.map(add)),
  };
}

/** The topics that a member subscribes to are in its metadata, which is empty during a rebalance. */
function metadataOf(encoded: Buffer, remove: Names['remove']): Buffer {
  const metadata = encoded.length === 0 ? null : AssignerProtocol.MemberMetadata.decode(encoded);
  return metadata
    ? AssignerProtocol.MemberMetadata.encode({ ...metadata, topics: metadata.topics.map(remove) })
    : encoded;
}

const producerOf = (producer: Producer, names: Names): Producer => ({
  ...producer,
  send: (record) => producer.send({ ...record, topic: names.add(record.topic) }),
  sendBatch: ({ topicMessages, ...batch }) =>
    producer.sendBatch({ ...batch, topicMessages: added(topicMessages ?? [], names) }),
});

function consumerOf(consumer: Consumer, names: Names): Consumer {
  return {
    ...consumer,
    subscribe: async (subscription) =>
      'topics' in subscription
        ? consumer.subscribe({
            ...subscription,
            topics: subscription.topics.map((topic) => names.add(`${topic}`)),
          })
        : consumer.subscribe({ ...subscription, topic: names.add(`${subscription.topic}`) }),
    run: (config) => consumer.run(runOf(config, names)),
    pause: (topics) => consumer.pause(added(topics, names)),
    resume: (topics) => consumer.resume(added(topics, names)),
    seek: (position) => consumer.seek({ ...position, topic: names.add(position.topic) }),
    commitOffsets: (offsets) => consumer.commitOffsets(added(offsets, names)),
    on: ((event: never, listener: (event: { payload: object }) => void) =>
      consumer.on(event, ((emitted: { payload: object }) =>
        listener({ ...emitted, payload: payloadOf(emitted.payload, names) })) as never)) as Consumer['on'],
  };
}

/** A batch is an instance of a class of kafkajs, so it is extended and not copied. */
const runOf = ({ eachBatch, ...config }: ConsumerRunConfig = {}, { remove }: Names): ConsumerRunConfig => ({
  ...config,
  ...(eachBatch && {
    eachBatch: (payload) => {
      const topic = { value: remove(payload.batch.topic) };
      const batch: EachBatchPayload['batch'] = Object.create(payload.batch, { topic });
      return eachBatch({ ...payload, batch });
    },
  }),
});

/** Events name topics in two places: the batch that was processed, and the partitions of a member. */
function payloadOf(
  payload: { readonly topic?: string; readonly memberAssignment?: Readonly<Record<string, number[]>> },
  { remove }: Names,
): object {
  const { topic, memberAssignment } = payload;
  return {
    ...payload,
    ...(topic !== undefined && { topic: remove(topic) }),
    ...(memberAssignment && {
      memberAssignment: Object.fromEntries(
        Object.entries(memberAssignment).map(([name, partitions]) => [remove(name), partitions]),
      ),
    }),
  };
}
