import { audit } from '#shared/contracts/apps/audit.ts';
import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import { batchCompleted, checkRequestedBatch } from '#shared/contracts/batches/batch.ts';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { checkRequestedBulk, checkRequestedInteractive } from '#shared/contracts/checks/check-requested.ts';
import { TOPICS_OF_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { ruleSet } from '#shared/contracts/rules/rule-set.ts';
import { deadLetterSpecOf, type TopicSpec } from '#shared/contracts/topic.ts';
import { usage } from '#shared/contracts/usage/usage.ts';
import { chainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import { watch, watchEvaluated, watchMember } from '#shared/contracts/watches/watch.ts';
import { webhookAttempted, webhookRequested, webhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import { READER_GROUP_PREFIX } from '#shared/kafka/read-topic.ts';

/** The processes with a login of their own, named after their service. */
export const SERVICES = [
  'gateway',
  'evaluator',
  'result-store',
  'watcher',
  'webhook-dispatcher',
  'developer-portal',
] as const;
export type Service = (typeof SERVICES)[number];

type KafkaAccess = {
  /** The topics that it consumes, by consumer group. */
  readonly consumes: Readonly<Record<string, readonly TopicSpec[]>>;
  /** Topics that it reads outside of every group, such as those of a rebuild. */
  readonly reads: readonly TopicSpec[];
  readonly writes: readonly TopicSpec[];
};

const DOCUMENTS = [account, clientApp, ruleSet, watch, watchMember];
const RETRIES = Object.values(webhookRetry);

/** The use of the topics by each service, outside of its groups. */
const USES: Readonly<Record<Service, Omit<KafkaAccess, 'consumes'>>> = {
  gateway: {
    reads: [],
    writes: [
      ...[checkRequestedInteractive, checkRequestedBulk, checkRequestedBatch],
      ...[ruleSet, watch, watchMember, watchEvaluated, webhookRequested, audit],
    ],
  },
  evaluator: {
    reads: [],
    writes: [checkCompleted, batchCompleted, watchEvaluated, chainTransferred, webhookRequested],
  },
  'result-store': {
    reads: [
      ...[...DOCUMENTS, audit, usage, checkRequestedInteractive, checkRequestedBulk, checkRequestedBatch],
      ...[checkCompleted, batchCompleted, webhookRequested, webhookAttempted],
    ],
    writes: [...DOCUMENTS, usage, webhookRequested],
  },
  watcher: {
    reads: [],
    writes: [checkRequestedBatch, watchEvaluated, watch, watchMember, webhookRequested],
  },
  'webhook-dispatcher': {
    reads: [],
    writes: [...RETRIES, webhookAttempted],
  },
  'developer-portal': {
    reads: [checkRequestedInteractive, checkRequestedBulk, webhookAttempted],
    writes: [account, clientApp, ruleSet, watch, watchEvaluated, webhookRequested, audit],
  },
};

const consumedBy = (service: Service): KafkaAccess['consumes'] =>
  Object.fromEntries(Object.entries(TOPICS_OF_GROUPS).filter(([group]) => group.split('.')[0] === service));

export const KAFKA_ACCESS = Object.fromEntries(
  SERVICES.map((service) => [service, { ...USES[service], consumes: consumedBy(service) }]),
) as Readonly<Record<Service, KafkaAccess>>;

export type Acl = {
  readonly resource: 'topic' | 'group';
  /** Each name is one resource; of `prefixed` ones, every resource that begins so. */
  readonly names: readonly string[];
  readonly isPrefixed: boolean;
  readonly operations: readonly string[];
};

/**
 * The least that the broker must allow a service, beside what it allows everybody who has logged in.
 *
 * Every service verifies all topics at its start, and asks whether other processes are in the
 * system's groups: hence the right to describe them. A consumer writes the records that it gives up
 * to the dead-letter topic. A reader joins a group of its own and deletes it.
 *
 * @param prefix of the system's topics and groups: `staging.`, or empty
 */
export function aclsOf(service: Service, prefix: string): Acl[] {
  const { consumes, reads, writes } = KAFKA_ACCESS[service];
  const consumed = Object.values(consumes).flat();
  const topics = (operation: string, used: readonly TopicSpec[]): Acl => ({
    resource: 'topic',
    names: [...new Set(used.map(({ name }) => prefix + name))],
    isPrefixed: false,
    operations: [operation],
  });
  const groups = (operations: readonly string[], names: readonly string[], isPrefixed = false): Acl => ({
    resource: 'group',
    names: names.map((name) => prefix + name),
    isPrefixed,
    operations,
  });
  const all = [
    ofAll('topic', ['Describe', 'DescribeConfigs'], prefix),
    ofAll('group', ['Describe'], prefix),
    topics('Read', [...consumed, ...reads]),
    topics('Write', [...writes, ...consumed.map(deadLetterSpecOf)]),
    groups(['Read'], Object.keys(consumes)),
    groups(['Read', 'Delete'], reads.length > 0 ? [READER_GROUP_PREFIX] : [], true),
  ];
  return all.filter(({ names }) => names.length > 0);
}

/** Those of the `admin` command, which applies topics, reads all, and redrives records. */
export const adminAcls = (prefix: string): Acl[] => [
  ofAll('topic', ['All'], prefix),
  ofAll('group', ['All'], prefix),
];

const ofAll = (resource: Acl['resource'], operations: readonly string[], prefix: string): Acl => ({
  resource,
  names: [prefix === '' ? '*' : prefix],
  isPrefixed: prefix !== '',
  operations,
});

export const kafkaAclsCommand = (user: string, { resource, names, isPrefixed, operations }: Acl): string =>
  [
    `kafka-acls.sh --bootstrap-server "$KAFKA_BROKERS" --command-config "$ADMIN_CONFIG" --add --allow-principal User:${user}`,
    ...operations.map((operation) => `--operation ${operation}`),
    ...names.map((name) => `--${resource} '${name}'`),
    ...(isPrefixed ? ['--resource-pattern-type prefixed'] : []),
  ].join(' ');
