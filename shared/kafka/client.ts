import { type Admin, Kafka, type KafkaConfig as KafkaSettings, type LogEntry, logLevel } from 'kafkajs';
import type { Logger } from '#shared/telemetry/log.ts';
import { retry } from '#shared/wait-for.ts';
import type { KafkaConfig } from '../config.ts';
import { patchKafkajs } from './consumer/patch-kafkajs.ts';
import { ofSystem, type SystemKafka } from './of-system.ts';

/** Lines that kafkajs may log per second while a broker is away. */
const LOG_LINES_PER_SECOND_MAX = 3;

/** Answers of a broker that starts, or whose group moves to another one: they occur on every start
 * of a new cluster. */
const COORDINATOR_ERRORS: ReadonlySet<string> = new Set([
  'The group coordinator is not available',
  "The coordinator is loading and hence can't process requests for this group",
  'This is not the correct coordinator for this group',
]);

function makeLogCreator(log: Logger) {
  let second = 0;
  let lines = 0;
  return () => (entry: LogEntry) => {
    const now = Math.floor(Date.now() / 1000);
    if (now !== second) [second, lines] = [now, 0];
    if (++lines > LOG_LINES_PER_SECOND_MAX) return;
    const { message, error } = entry.log as { message: string; error?: string };
    const fields = { namespace: entry.namespace, detail: message, ...(error ? { error } : {}) };
    // kafkajs retries these by itself, and throws if its retries fail: then its caller logs the
    // error.
    if (entry.level <= logLevel.ERROR && !COORDINATOR_ERRORS.has(error ?? ''))
      log.warn(fields, 'kafka client');
    else log.debug(fields, 'kafka client');
  };
}

/** A handshake of TLS and a login come on top of the dial. */
const CONNECT_TIMEOUT_MS = 1_000;
const SECURE_CONNECT_TIMEOUT_MS = 5_000;
const COORDINATOR_WAIT_MS_MAX = 10_000;
const COORDINATOR_POLL_MS = 50;

/** The connection to the brokers: addresses, timeouts, TLS and login. */
function reach({ brokers, tls, sasl }: KafkaConfig) {
  return {
    brokers: [...brokers],
    connectionTimeout: tls ? SECURE_CONNECT_TIMEOUT_MS : CONNECT_TIMEOUT_MS,
    ...(tls ? { ssl: { ...tls } } : {}),
    // kafkajs keeps the object, writes to it, and reads the login at every new connection: hence no
    // copy.
    ...(sasl ? { sasl: Object.create(sasl) as NonNullable<KafkaSettings['sasl']> } : {}),
  } satisfies KafkaSettings;
}

/** A kafkajs client of the system, with the settings that were measured to survive a broker's
 * death. */
export function makeKafka(config: KafkaConfig, clientId: string, log: Logger): SystemKafka {
  patchKafkajs();
  const kafka = new Kafka({
    ...reach(config),
    clientId,
    logLevel: logLevel.WARN,
    logCreator: makeLogCreator(log),
    requestTimeout: config.requestTimeoutMs,
    retry: { initialRetryTime: 100, multiplier: 1.5, maxRetryTime: 1_000, retries: 30 },
  });
  return ofSystem(kafka, config.prefix);
}

/** Asks a broker with a separate client, which neither retries nor logs a failure. */
async function askQuietly<T>(config: KafkaConfig, ask: (admin: Admin) => Promise<T>): Promise<T> {
  const kafka = new Kafka({
    ...reach(config),
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
  });
  const admin = ofSystem(kafka, config.prefix).admin();
  try {
    await admin.connect();
    return await ask(admin);
  } finally {
    await admin.disconnect();
  }
}

/**
 * Tries once to reach a broker.
 *
 * It uses a separate client, because the normal client retries for half a minute without logging.
 *
 * @throws when none does
 */
export async function probeBroker(config: KafkaConfig): Promise<void> {
  // A broker that requires a login accepts the connection of a client without one, and answers
  // nothing else.
  await askQuietly(config, (admin) => admin.describeCluster());
}

/**
 * Waits until the coordinator of a group is ready for members. A new cluster makes its offsets
 * topic when it is first asked for a coordinator, and a broker that has just started loads it; a
 * consumer that joins meanwhile logs errors and crashes, and is restarted by kafkajs. After 10 s
 * the consumer joins anyway, so that kafkajs logs the fault.
 */
export async function waitForCoordinator(
  config: KafkaConfig,
  groupId: string,
  stopping: AbortSignal,
): Promise<void> {
  const giveUpAt = performance.now() + COORDINATOR_WAIT_MS_MAX;
  const mayRetry = () => performance.now() < giveUpAt;
  const isReady = (admin: Admin) =>
    retry(() => admin.describeGroups([groupId]), {
      delayMs: COORDINATOR_POLL_MS,
      mayRetry,
      signal: stopping,
    });
  await askQuietly(config, isReady).catch(() => undefined);
}

/** Tries of one request of a consumer before it crashes: kafkajs's default. */
const CONSUMER_RETRIES = 5;

/**
 * The retries of a consumer that is not restarted once it `isOver`. By default kafkajs also
 * restarts a consumer that crashes while it is being disconnected, and nothing stops the new one.
 */
export const restartUnless = (isOver: () => boolean) => ({
  retries: CONSUMER_RETRIES,
  restartOnFailure: async () => !isOver(),
});
