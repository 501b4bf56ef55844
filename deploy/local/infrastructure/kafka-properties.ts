import { join } from 'node:path';

export type KafkaPlace = { readonly dir: string; readonly port: number; readonly controllerPort: number };

/**
 * The settings of a single broker that is also its controller.
 *
 * The reasons for these settings: sessions of the broker are short, so that a restart after kill -9
 * takes 4 s and not 12; groups form at once and may have short sessions, so that tests of crashes
 * are quick; files and threads are few, because one small machine carries some 260 partitions; the
 * controller is named by a fixed voter list, which, unlike the dynamic one, writes no port into the
 * data, so the ports may change between runs.
 *
 * Source: https://kafka.apache.org/documentation/#configuration
 */
export const kafkaProperties = ({
  dir,
  port,
  controllerPort,
}: KafkaPlace): Readonly<Record<string, string>> => ({
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
  listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
  'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
  'controller.listener.names': 'CONTROLLER',
  'inter.broker.listener.name': 'PLAINTEXT',
  'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
  'log.dirs': join(dir, 'data'),

  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '500',
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '1000',
  'auto.create.topics.enable': 'false',

  'offsets.topic.num.partitions': '4',
  'offsets.topic.replication.factor': '1',
  'transaction.state.log.num.partitions': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.num.partitions': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',

  'log.segment.bytes': String(64 * 1024 * 1024),
  // Enough entries for a segment of that size: one of 12 bytes per 4 KiB.
  'log.index.size.max.bytes': String(256 * 1024),
  'log.cleaner.dedupe.buffer.size': String(8 * 1024 * 1024),
  'num.recovery.threads.per.data.dir': '4',
  'num.network.threads': '2',
  'num.io.threads': '4',
  'background.threads': '2',
  // The idle controller writes a record this often (by default every 500 ms).
  'metadata.max.idle.interval.ms': '5000',
});

/** As a file. Backslashes are the format's escape character. */
export const formatProperties = (properties: Readonly<Record<string, string>>): string =>
  Object.entries(properties)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}\n`)
    .join('');

/** Warnings and worse go to a file: a broker that starts well writes next to nothing. */
export const formatLogging = (file: string): string => `status = error
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${file.replaceAll('\\', '\\\\')}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %m (%c)%n
`;
