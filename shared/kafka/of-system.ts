import type { Admin, Consumer, EachBatchPayload, Kafka, Producer } from 'kafkajs';

/** What of kafkajs names no topic and no group, or only the system's own. */
export type SystemKafka = Pick<Kafka, 'admin' | 'consumer' | 'producer'>;

/**
 * A kafkajs client of one system of several that share a cluster: each name of a topic or group
 * that goes to the broker gets the system's prefix, and each one that comes from it loses it. So
 * all other code, and every metric and log line, has one name for a topic, whatever the system.
 * Topics and groups of other systems are not listed.
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
      renamed<Producer>(
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

type Rename = (name: string) => string;
type Names = { readonly add: Rename; readonly remove: Rename; readonly isOurs: (name: string) => boolean };

/** The members of kafkajs's options and answers that name topics and groups, or list names. */
const NAMING: ReadonlySet<string> = new Set(['topic', 'topics', 'groupId', 'name', 'resourceName']);
/** Those that have members of the same names with another meaning, or are too large to be
 * copied. */
const OTHERS: ReadonlySet<string> = new Set(['configEntries', 'messages']);

/** Renames the topics and groups in an argument or answer: texts, lists of them, and plain objects
 * that have them. */
function renameIn<V>(value: V, rename: Rename, isName = true): V {
  if (typeof value === 'string') return (isName ? rename(value) : value) as V;
  if (Array.isArray(value)) return value.map((each) => renameIn(each, rename, isName)) as V;
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value as object).map(([member, inside]) => [
      member,
      OTHERS.has(member) ? inside : renameIn(inside, rename, NAMING.has(member)),
    ]),
  ) as V;
}

/** The client with the names in all arguments and answers of its functions renamed. */
function renamed<C extends Admin | Consumer | Producer>(client: C, { add, remove }: Names): C {
  const wrap =
    (work: (...options: unknown[]) => unknown) =>
    (...options: unknown[]) => {
      const answer = work(...renameIn(options, add));
      return answer instanceof Promise ? answer.then((found) => renameIn(found, remove)) : answer;
    };
  return Object.fromEntries(
    Object.entries(client).map(([name, member]) => [
      name,
      typeof member === 'function' ? wrap(member) : member,
    ]),
  ) as C;
}

function adminOf(admin: Admin, names: Names): Admin {
  return {
    ...renamed(admin, names),
    // Their names are full, because some are the beginnings of names.
    createAcls: admin.createAcls,
    listTopics: async () => (await admin.listTopics()).filter(names.isOurs).map(names.remove),
    async listGroups() {
      const { groups } = await admin.listGroups();
      const ours = groups.filter(({ groupId }) => names.isOurs(groupId));
      return { groups: renameIn(ours, names.remove) };
    },
  };
}

function consumerOf(consumer: Consumer, names: Names): Consumer {
  const { remove } = names;
  return {
    ...renamed(consumer, names),
    /** A batch is an instance of a class of kafkajs, so it is extended and not copied. */
    run: ({ eachBatch, ...config } = {}) =>
      consumer.run({
        ...config,
        ...(eachBatch && {
          eachBatch: (payload) => {
            const topic = { value: remove(payload.batch.topic) };
            const batch: EachBatchPayload['batch'] = Object.create(payload.batch, { topic });
            return eachBatch({ ...payload, batch });
          },
        }),
      }),
    on: ((event: never, listener: (event: { payload: object }) => void) =>
      consumer.on(event, ((emitted: { payload: Emitted }) =>
        listener({ ...emitted, payload: payloadOf(emitted.payload, remove) })) as never)) as Consumer['on'],
  };
}

type Emitted = { readonly memberAssignment?: Readonly<Record<string, number[]>> };

/** A member's partitions are listed by topic. */
function payloadOf({ memberAssignment, ...payload }: Emitted, remove: Rename): object {
  if (memberAssignment === undefined) return renameIn(payload, remove);
  const entries = Object.entries(memberAssignment).map(([name, partitions]) => [remove(name), partitions]);
  return { ...renameIn(payload, remove), memberAssignment: Object.fromEntries(entries) };
}
