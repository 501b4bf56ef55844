import { createRequire } from 'node:module';
import type { KafkaJSError, KafkaJSNonRetriableError } from 'kafkajs';
import { patchProtocol } from '../wire/patch-protocol.ts';

type RequestQueue = { pending: unknown[]; scheduleCheckPendingRequests: () => void };
type ConsumerGroup = {
  readonly groupId: string;
  /** Absent until the first join. */
  readonly memberId: string | null;
  joinAndSync: () => Promise<void>;
  heartbeat: (options: { readonly interval: number }) => Promise<void>;
  /** How long the broker may wait for data, ms. */
  maxWaitTime: number;
  paused: () => readonly { readonly partitions: readonly number[] }[];
  fetch: (nodeId: string) => Promise<unknown>;
};

const load = createRequire(import.meta.url);
type BrokerPool = {
  disconnect: () => Promise<void>;
  connectBroker: (broker: unknown) => Promise<unknown>;
  findConnectedBroker: () => Promise<unknown>;
};
type Connection = {
  /** Null while it is not logged in. */
  readonly authenticatedAt: unknown;
  isAuthenticated: () => boolean;
};
type SaslAuthenticator = {
  readonly connection: { readonly disconnect: () => Promise<unknown> };
  readonly logger: { readonly error: (message: string) => void };
  authenticate: () => Promise<void>;
};
type Cluster = {
  readonly brokerPool: BrokerPool;
  connect: () => Promise<void>;
  findGroupCoordinatorMetadata: (group: { readonly groupId: string }) => Promise<unknown>;
};

const errors = load('kafkajs/src/errors') as {
  readonly KafkaJSError: typeof KafkaJSError;
  readonly KafkaJSNonRetriableError: typeof KafkaJSNonRetriableError;
  readonly KafkaJSGroupCoordinatorNotFound: typeof KafkaJSNonRetriableError;
};
/** How long the broker may wait for data of the other partitions while one is paused. */
const PAUSED_WAIT_MS = 100;
let isPatched = false;
/** By group: the work that its consumers in this process finish before they join again. */
const settling = new Map<string, Set<() => Promise<void>>>();

/** Patches kafkajs 2.2.4 in its own classes: once per process, before the first client is made. */
export function patchKafkajs(): void {
  if (isPatched) return;
  isPatched = true;
  patchRequestQueue((load('kafkajs/src/network/requestQueue') as { prototype: RequestQueue }).prototype);
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as { prototype: ConsumerGroup };
  patchMembership(prototype);
  patchFetchWait(prototype);
  const { prototype: cluster } = load('kafkajs/src/cluster') as { prototype: Cluster };
  patchReconnect(cluster, (load('kafkajs/src/cluster/brokerPool') as { prototype: BrokerPool }).prototype);
  patchCoordinatorSearch(cluster);
  patchLogin((load('kafkajs/src/broker/saslAuthenticator') as { prototype: SaslAuthenticator }).prototype);
  patchLoginAgain((load('kafkajs/src/network/connection') as { prototype: Connection }).prototype);
  patchProtocol();
}

/**
 * A request in progress when its client is disconnected is retried and connects again, and nothing
 * closes that connection. With the patch it fails. A consumer that restarts after a crash connects
 * its cluster first.
 */
function patchReconnect(cluster: Cluster, pool: BrokerPool): void {
  const disconnected = new WeakSet<object>();
  const { connect } = cluster;
  const { disconnect, connectBroker, findConnectedBroker } = pool;
  const refuse = (asked: BrokerPool) => {
    if (disconnected.has(asked)) throw new errors.KafkaJSNonRetriableError('the client is disconnected');
  };
  cluster.connect = function connectAgain() {
    disconnected.delete(this.brokerPool);
    return connect.call(this);
  };
  pool.disconnect = function disconnectForGood() {
    disconnected.add(this);
    return disconnect.call(this);
  };
  pool.connectBroker = async function connectUnlessDisconnected(broker) {
    refuse(this);
    return connectBroker.call(this, broker);
  };
  pool.findConnectedBroker = async function findUnlessDisconnected() {
    refuse(this);
    return findConnectedBroker.call(this);
  };
}

/**
 * kafkajs asks every connected broker for the coordinator of a group and ignores how that failed.
 * If none answers, for example because a broker that starts closes the connection, it reports an
 * error that is not retriable, and the consumer ends for good (tulios/kafkajs #1630). With the
 * patch the error is retriable, so the consumer restarts.
 */
function patchCoordinatorSearch(cluster: Pick<Cluster, 'findGroupCoordinatorMetadata'>): void {
  const { findGroupCoordinatorMetadata } = cluster;
  cluster.findGroupCoordinatorMetadata = async function findRetriably(group) {
    try {
      return await findGroupCoordinatorMetadata.call(this, group);
    } catch (error) {
      if (!(error instanceof errors.KafkaJSGroupCoordinatorNotFound)) throw error;
      throw new errors.KafkaJSError(error.message, { retriable: true });
    }
  };
}

/**
 * A login that fails is final for kafkajs, so it ends a consumer for good, and the process with it.
 * But the next login may succeed: a token expires, a password is replaced, an endpoint of tokens is
 * away for a while. With the patch the connection is closed, and the error is retriable, as that of
 * a broker that is away.
 */
function patchLogin(prototype: SaslAuthenticator): void {
  const { authenticate } = prototype;
  prototype.authenticate = async function authenticateRetriably() {
    try {
      await authenticate.call(this);
    } catch (error) {
      const { name, message } = error as Error;
      // kafkajs logs a login that the broker refused, and not why there was none.
      if (name !== 'KafkaJSSASLAuthenticationError') this.logger.error(message);
      await this.connection.disconnect();
      throw new errors.KafkaJSError(message, { retriable: true });
    }
  };
}

/**
 * Before a session is over, kafkajs logs in again on the open connection, while requests are on
 * their way: the broker refuses those that come between the two steps of the login, and a second
 * login within a second, with an error that is not retriable. With the patch the broker closes the
 * connection, and the next request logs in on a new one.
 */
function patchLoginAgain(prototype: Connection): void {
  prototype.isAuthenticated = function isLoggedIn() {
    return this.authenticatedAt !== null;
  };
}

/**
 * kafkajs's request queue repeatedly sets a timer with a negative delay although nothing is
 * pending: 880 times a second on every connection (tulios/kafkajs #1704, #1751). A request that
 * becomes pending calls the method again, so none can be forgotten.
 */
function patchRequestQueue(prototype: RequestQueue): void {
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function scheduleIfPending() {
    if (this.pending.length > 0) schedule.call(this);
  };
}

/**
 * A fetch names the partitions that are not paused, and the broker holds it until one of them has a
 * record or the wait is over. A partition that is resumed meanwhile must wait for the next fetch.
 * So the wait is short while a partition is paused, and otherwise as configured, so that an idle
 * consumer fetches rarely.
 */
function patchFetchWait(prototype: Pick<ConsumerGroup, 'maxWaitTime' | 'paused' | 'fetch'>): void {
  const { fetch } = prototype;
  const waits = new WeakMap<object, number>();
  prototype.fetch = function fetchSoonIfPaused(nodeId) {
    const wait = waits.get(this) ?? this.maxWaitTime;
    waits.set(this, wait);
    const isHurried = this.paused().some(({ partitions }) => partitions.length > 0);
    this.maxWaitTime = isHurried ? Math.min(wait, PAUSED_WAIT_MS) : wait;
    return fetch.call(this, nodeId);
  };
}

/**
 * A member must join again, and the join fails for another reason than a rebalance (the coordinator
 * is loading, the connection broke). kafkajs then continues to fetch outside of the group. It has
 * no member id, so its heartbeats do nothing and no error is reported. It reads partitions of other
 * members, and the broker ignores its commits.
 *
 * The patch makes a heartbeat outside of the group report that a rejoin is needed, as the
 * coordinator would: the fetch loop joins again, and after the usual number of failures the
 * consumer crashes and restarts.
 */
function patchMembership(prototype: ConsumerGroup): void {
  const { joinAndSync, heartbeat } = prototype;
  const outside = new WeakSet<ConsumerGroup>();
  prototype.joinAndSync = async function joinAgain() {
    if (this.memberId) await settle(this.groupId);
    outside.add(this);
    await joinAndSync.call(this);
    outside.delete(this);
  };
  prototype.heartbeat = async function heartbeatInside(options) {
    if (outside.has(this)) throw rejoinNeeded();
    return heartbeat.call(this, options);
  };
}

/**
 * Runs `work` before a consumer of the group in this process joins again: until the join its
 * commits still count. (kafkajs emits its rebalance event and joins at once.) No heartbeat is sent
 * meanwhile, so `work` must end well within the session timeout.
 *
 * @returns a function that removes `work` again
 */
export function settleBeforeJoin(groupId: string, work: () => Promise<void>): () => void {
  const works = settling.get(groupId) ?? new Set();
  settling.set(groupId, works.add(work));
  return () => {
    works.delete(work);
    if (works.size === 0) settling.delete(groupId);
  };
}

async function settle(groupId: string): Promise<void> {
  await Promise.all([...(settling.get(groupId) ?? [])].map((work) => work()));
}

const rejoinNeeded = (): Error =>
  Object.assign(new errors.KafkaJSError('the last join failed', { retriable: true }), {
    type: 'REBALANCE_IN_PROGRESS',
  });
